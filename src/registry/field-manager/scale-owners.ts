/**
 * Owners of a scale: whoever owns the parent's replicas owns `.spec.replicas` of its Scale, and back again.
 * Source of the rules: apimachinery, pkg/util/managedfields/scalehandler.go.
 */
import type { ManagedFieldsEntry } from '#api/object.js'
import { difference, type FieldSet, hasPath, isEmptySet, setOfPath } from './field-set.js'
import { type Owner, type Owners, readOrNone, writeManagedFields } from './managed-fields.js'

const scaleVersion = 'autoscaling/v1'
const replicasInScale: FieldSet = setOfPath('f:spec', 'f:replicas')

/**
 * Where replicas are in the parent, by its apiVersion: path elements such as `['f:spec', 'f:replicas']`. Empty for a
 * version that has no scale, undefined for one that is not known, whose owners go.
 */
type ReplicasPaths = (apiVersion: string) => readonly string[] | undefined

const isOwned = (owner: Owner, path: readonly string[]): boolean =>
  path.length > 0 && hasPath(owner.set, path)

/** managedFields of the Scale that a parent with these managedFields shows. */
export const ownersOfScale = (
  parent: readonly ManagedFieldsEntry[] | undefined,
  pathOf: ReplicasPaths,
): ManagedFieldsEntry[] | undefined => {
  const owners: Owners = new Map()
  for (const [identity, owner] of readOrNone(parent)) {
    const path = pathOf(owner.apiVersion)
    if (path === undefined || !isOwned(owner, path)) continue
    const { entry: _entry, ...rest } = owner
    owners.set(identity, { ...rest, apiVersion: scaleVersion, set: replicasInScale })
  }
  return writeManagedFields(owners)
}

/** managedFields of the parent (in `apiVersion`) after its Scale was written with these. */
export const ownersOfScaled = (options: {
  parent: readonly ManagedFieldsEntry[] | undefined
  scale: readonly ManagedFieldsEntry[] | undefined
  apiVersion: string
  pathOf: ReplicasPaths
}): ManagedFieldsEntry[] | undefined => {
  const { apiVersion, pathOf } = options
  // Updates are told apart by version as well, so those of the parent are never found among the Scale's: they make way
  // for an entry of the Scale's.
  const scale = new Map(readOrNone(options.scale))
  const owners: Owners = new Map()
  for (const [identity, owner] of readOrNone(options.parent)) {
    const path = pathOf(owner.apiVersion)
    if (path === undefined) continue
    if (!isOwned(owner, path)) owners.set(identity, owner)
    else if (scale.delete(identity)) owners.set(identity, owner)
    else {
      const left = difference(owner.set, setOfPath(...path))
      if (!isEmptySet(left)) owners.set(identity, { ...owner, set: left })
    }
  }
  const path = pathOf(apiVersion)
  for (const [identity, owner] of scale) {
    if (path === undefined || !hasPath(owner.set, ['f:spec', 'f:replicas'])) continue
    const { entry: _entry, ...rest } = owner
    // Upstream looks for the time of a new owner among the parent's, where it is not: scale entries have none.
    owners.set(identity, { ...rest, apiVersion, set: setOfPath(...path), time: undefined })
  }
  return writeManagedFields(owners)
}
