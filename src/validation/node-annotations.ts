/** What annotations of a Node said before there were fields for it (kubernetes, core/validation: ValidateNodeSpecificAnnotations). */
import { goKindOf } from '#api/decoder-texts.js'
import { each } from '#api/each.js'
import { child, type FieldError, invalid, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { JsonSyntaxError, parse } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { taintErrors } from './node-taints.js'

const path = 'metadata.annotations'
const taintsKey = 'scheduler.alpha.kubernetes.io/taints'
const avoidPodsKey = 'scheduler.alpha.kubernetes.io/preferAvoidPods'

/** The error is blamed on the key, wherever upstream says it is. */
const unread = (field: string, key: string, message: string): FieldError[] => [
  invalid(field, key, message),
]

const withValue = (
  text: string | undefined,
  check: (value: JsonValue) => FieldError[],
  refuse: (message: string) => FieldError[],
): FieldError[] => {
  if (!text) return []
  try {
    return check(parse(text))
  } catch (error) {
    if (error instanceof JsonSyntaxError) return refuse(error.message)
    throw error
  }
}

const typeMessage = (value: JsonValue, where: string): string =>
  `json: cannot unmarshal ${goKindOf(value)} into Go ${where}`

const taints = (text: string | undefined): FieldError[] => {
  const refuse = (message: string) => unread(path, taintsKey, message)
  return withValue(
    text,
    (value) =>
      value === null || Array.isArray(value)
        ? taintErrors(child(path, taintsKey), value as Fields[] | undefined)
        : refuse(typeMessage(value, 'value of type []core.Taint')),
    refuse,
  )
}

const entryErrors = ({ podSignature }: Fields, at: string): FieldError[] => {
  const signature = child(at, 'PodSignature')
  const owner = podSignature?.podController
  if (owner === undefined || owner === null) return [required(signature)]
  // Upstream fails on an owner that does not say whether it is the controller.
  return owner.controller === true
    ? []
    : [
        invalid(
          child(signature, 'PodController', 'Controller'),
          false,
          'must point to a controller',
        ),
      ]
}

const avoidedPods = (text: string | undefined): FieldError[] => {
  const refuse = (message: string) => unread(child(path, 'AvoidPods'), avoidPodsKey, message)
  return withValue(
    text,
    (value) => {
      if (value === null) return []
      if (!isJsonObject(value)) return refuse(typeMessage(value, 'value of type v1.AvoidPods'))
      const entries = value.preferAvoidPods ?? []
      return Array.isArray(entries)
        ? each(child(path, avoidPodsKey), entries as Fields[], entryErrors)
        : refuse(
            typeMessage(
              entries,
              'struct field AvoidPods.preferAvoidPods of type []v1.PreferAvoidPodsEntry',
            ),
          )
    },
    refuse,
  )
}

export const nodeAnnotationErrors = (annotations: Record<string, string> = {}): FieldError[] => [
  ...taints(annotations[taintsKey]),
  ...avoidedPods(annotations[avoidPodsKey]),
]
