/** The statuses of both kinds: conditions of their own form, and nothing else is written with them, no metadata either. */

import { each, makeRepeatCheck } from '#api/each.js'
import { child, duplicate, type FieldError, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import type { Strategy } from '#registry/resource-definition.js'

const statusErrors = ({ status = {} }: KubeObject): FieldError[] => {
  const conditions: { type?: string }[] | undefined = status.conditions
  const isRepeated = makeRepeatCheck()
  return each('status.conditions', conditions, ({ type = '' }, path) => [
    ...(isRepeated(type) ? [duplicate(child(path, 'type'), type)] : []),
    ...(type === '' ? [required(child(path, 'type'))] : []),
  ])
}

export const conditionsOnly: NonNullable<Strategy['status']> = {
  prepareForUpdate: (next, previous) => {
    next.spec = previous.spec
    const { managedFields } = next.metadata
    next.metadata = { ...previous.metadata }
    delete next.metadata.managedFields
    if (managedFields !== undefined) next.metadata.managedFields = managedFields
  },
  validateUpdate: statusErrors,
}
