/** Numbers in the specs and statuses of workloads. */
import { child, type FieldError, invalid } from '#api/field-error.js'
import { regexMessage } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { validNotNegative } from '../formats.js'

export const notNegative = (path: string, part: Fields, ...fields: string[]): FieldError[] =>
  fields.flatMap((field) => validNotNegative(child(path, field), part[field]))

const percentMessage = regexMessage(
  "a valid percent string must be a numeric string followed by an ending '%'",
  '[0-9]+%',
  '1%',
  '93%',
)

type Count = number | string

export const validCountOrPercent = (path: string, value: Count): FieldError[] => {
  if (typeof value === 'number') return validNotNegative(path, value)
  return /^[0-9]+%$/.test(value) ? [] : [invalid(path, value, percentMessage)]
}

/** What is no percentage counts as none. */
const amount = (value: Count): number =>
  typeof value === 'number' || /^[0-9]+%$/.test(value) ? Number.parseInt(String(value), 10) : 0
export const isNone = (value: Count): boolean => amount(value) === 0

export const notMoreThanAll = (path: string, value: Count): FieldError[] =>
  typeof value === 'string' && /^[0-9]+%$/.test(value) && amount(value) > 100
    ? [invalid(path, value, 'must not be greater than 100%')]
    : []

/** Counts in a status that are parts of its replicas. */
export const withinReplicas = (path: string, status: Fields, fields: readonly string[]) =>
  fields.flatMap((field) =>
    (status[field] ?? 0) > (status.replicas ?? 0)
      ? [invalid(child(path, field), status[field] ?? 0, 'cannot be greater than status.replicas')]
      : [],
  )

export const notDecremented = (next: Fields, previous: Fields): FieldError[] =>
  previous.collisionCount !== undefined && (next.collisionCount ?? -1) < previous.collisionCount
    ? [invalid('status.collisionCount', next.collisionCount ?? 0, 'cannot be decremented')]
    : []
