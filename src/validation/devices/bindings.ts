/** Conditions on which a device is bound, or is not (kubernetes, resource/validation validateDeviceBindingParameters). */

import { makeRepeatCheck } from '#api/each.js'
import { child, duplicate, type FieldError, index, invalid } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { givenEmpty } from '#json/given-empty.js'
import { validQualifiedName } from '../formats.js'
import { validList } from './names.js'

const conditionsMax = 4

const conditionErrors = (
  path: string,
  conditions: string[],
  others: ReadonlySet<string>,
): FieldError[] => {
  const isRepeated = makeRepeatCheck()
  return conditions.flatMap((condition, i) => {
    const at = index(path, i)
    return [
      ...(isRepeated(condition) ? [duplicate(at, condition)] : []),
      ...(others.has(condition)
        ? [
            invalid(
              at,
              condition,
              'bindingFailureConditions must not overlap with bindingConditions',
            ),
          ]
        : []),
    ]
  })
}

export const validBindingConditions = (part: Fields, path: string): FieldError[] => {
  const bindingConditions: string[] = part.bindingConditions ?? []
  const failures: string[] = part.bindingFailureConditions ?? []
  const at = child(path, 'bindingConditions')
  const failuresAt = child(path, 'bindingFailureConditions')
  const named = (name: string, namePath: string): FieldError[] => validQualifiedName(namePath, name)
  const errors = [
    ...validList(at, bindingConditions, conditionsMax, named),
    ...validList(failuresAt, failures, conditionsMax, named),
    ...conditionErrors(at, bindingConditions, new Set()),
    ...conditionErrors(failuresAt, failures, new Set(bindingConditions)),
  ]
  if (bindingConditions.length === 0 && failures.length > 0)
    errors.push(
      invalid(
        at,
        part.bindingConditions ?? givenEmpty(part, 'bindingConditions') ?? null,
        'bindingConditions are required to use bindingFailureConditions',
      ),
    )
  if (failures.length === 0 && bindingConditions.length > 0)
    errors.push(
      invalid(
        failuresAt,
        part.bindingFailureConditions ?? givenEmpty(part, 'bindingFailureConditions') ?? null,
        'bindingFailureConditions are required to use bindingConditions',
      ),
    )
  return errors
}
