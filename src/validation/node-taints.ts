/** Taints of a Node (kubernetes, core/validation: validateNodeTaints). */

import { each } from '#api/each.js'
import { child, type FieldError, notSupported, required, shownAsJson } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { validQualifiedName, validTaintValue } from './formats.js'
import { internalForm } from './internal-form.js'

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

const effectErrors = (path: string, effect: string): FieldError[] => {
  if (effect === '') return [required(path)]
  // The errors are not at spec.taints, where the type would be known.
  return effects.includes(effect) ? [] : [shownAsJson(notSupported(path, effect, effects))]
}

export const taintErrors = (path: string, taints: Fields[] | undefined): FieldError[] => {
  const seen = new Set<string>()
  return each(path, taints, (taint, at) => {
    const { key = '', value = '', effect = '' } = taint
    const errors = [
      ...validQualifiedName(child(at, 'key'), key),
      ...validTaintValue(child(at, 'value'), value),
      ...effectErrors(child(at, 'effect'), effect),
    ]
    const pair = `${key}:${effect}`
    if (seen.has(pair)) {
      const printed = JSON.stringify(internalForm('core.v1.Taint', taint))
      errors.push({
        type: 'FieldValueDuplicate',
        field: at,
        body: `Duplicate value: ${printed}: taints must be unique by key and effect pair`,
      })
    }
    seen.add(pair)
    return errors
  })
}
