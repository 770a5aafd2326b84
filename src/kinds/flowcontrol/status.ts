/** The statuses of both kinds: conditions of their own form, and nothing else is written with them, no metadata either. */

import { makeRepeatCheck } from '#api/each.js'
import { child, duplicate, type FieldError, index, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import type { Strategy } from '#registry/resource-definition.js'

const statusErrors = ({ status = {} }: KubeObject): FieldError[] => {
  const types: string[] = (status.conditions ?? []).map(({ type = '' }) => type)
  const isRepeated = makeRepeatCheck()
  return types.flatMap((type, i) => {
    const at = child(index('status.conditions', i), 'type')
    return [
      ...(isRepeated(type) ? [duplicate(at, type)] : []),
      ...(type === '' ? [required(at)] : []),
    ]
  })
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
