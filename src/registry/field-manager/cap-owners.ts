/** At most ten owners by update: the oldest are merged, version by version, into the made-up manager `ancient-changes`. */
import { limits } from '#limits'
import { union } from './field-set.js'
import { identityOf, type Owner, type Owners, secondsOf } from './managed-fields.js'

/** Changes `owners`. Source of the rule: apimachinery, pkg/util/managedfields/internal/capmanagers.go. */
export const capOwners = (owners: Owners): void => {
  if (owners.size <= limits.updateManagersMax) return
  const updaters = [...owners].filter(([, owner]) => owner.operation === 'Update')
  let count = updaters.length
  if (count <= limits.updateManagersMax) return
  updaters.sort(
    ([a, ownerA], [b, ownerB]) => secondsOf(ownerA) - secondsOf(ownerB) || (a < b ? -1 : 1),
  )
  const firstOfVersion = new Map<string, [string, Owner]>()
  for (const [identity, owner] of updaters) {
    if (count <= limits.updateManagersMax) return
    const first = firstOfVersion.get(owner.apiVersion)
    if (first === undefined) {
      firstOfVersion.set(owner.apiVersion, [identity, owner])
      continue
    }
    const bucket: Owner = {
      manager: 'ancient-changes',
      operation: 'Update',
      apiVersion: owner.apiVersion,
      subresource: '',
      time: owner.time,
      set: owner.set,
    }
    const key = identityOf(bucket)
    let before = owners.get(key)
    if (before === undefined) {
      owners.delete(first[0])
      before = first[1]
    }
    owners.delete(identity)
    owners.set(key, { ...bucket, set: union(owner.set, before.set) })
    count--
  }
}
