/** Numbers in the specs and statuses of workloads. */
import { child, type FieldError, invalid } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { nonNegative } from '../number.js'

export const notNegative = (path: string, part: Fields, ...fields: string[]): FieldError[] =>
  fields.flatMap((field) => nonNegative(child(path, field), part[field]))

/** Counts in a status that are parts of its replicas. */
export const withinReplicas = (status: Fields, fields: readonly string[]) =>
  fields.flatMap((field) =>
    (status[field] ?? 0) > (status.replicas ?? 0)
      ? [invalid(`status.${field}`, status[field] ?? 0, 'cannot be greater than status.replicas')]
      : [],
  )

/** `ready` is what upstream calls the other count, which differs from kind to kind. */
export const availableWithinReady = (status: Fields, ready = 'readyReplicas'): FieldError[] =>
  (status.availableReplicas ?? 0) > (status.readyReplicas ?? 0)
    ? [
        invalid(
          'status.availableReplicas',
          status.availableReplicas ?? 0,
          `cannot be greater than ${ready}`,
        ),
      ]
    : []

const replicaCounts = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas']

/** The status of a ReplicaSet or a ReplicationController. */
export const validateReplicaCounts = ({ status }: KubeObject): FieldError[] => [
  ...notNegative(
    'status',
    status,
    'replicas',
    ...replicaCounts,
    'observedGeneration',
    'terminatingReplicas',
  ),
  ...withinReplicas(status, replicaCounts),
  ...availableWithinReady(status),
]

export const notDecremented = (next: Fields, previous: Fields): FieldError[] =>
  previous.collisionCount !== undefined && (next.collisionCount ?? -1) < previous.collisionCount
    ? [invalid('status.collisionCount', next.collisionCount ?? 0, 'cannot be decremented')]
    : []
