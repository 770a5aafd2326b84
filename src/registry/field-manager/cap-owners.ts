/** At most ten owners by update: the oldest are merged, version by version, into the made-up manager `ancient-changes`. */
import { compareTexts } from '#go/compare-texts.js'
import { limits } from '#limits'
import { type FieldSet, unionOfAll } from './field-set.js'
import { identityOf, type Owner, type Owners, secondsOf } from './managed-fields.js'

/** What upstream tells owners apart by, and puts those of one second in order by: one with a subresource comes first. */
const identifierOf = ({ manager, operation, apiVersion, subresource }: Owner): string =>
  JSON.stringify({
    manager: manager || undefined,
    operation,
    apiVersion,
    subresource: subresource || undefined,
  })

/** Changes `owners`. Source of the rule: apimachinery, pkg/util/managedfields/internal/capmanagers.go. */
export const capOwners = (owners: Owners): void => {
  if (owners.size <= limits.updateManagersMax) return
  const updaters = [...owners].filter(([, owner]) => owner.operation === 'Update')
  let count = updaters.length
  if (count <= limits.updateManagersMax) return
  const oldestFirst = updaters
    .map(([identity, owner]) => ({ identity, owner, identifier: identifierOf(owner) }))
    .sort(
      (a, b) => secondsOf(a.owner) - secondsOf(b.owner) || compareTexts(a.identifier, b.identifier),
    )
  const firstOfVersion = new Map<string, [string, Owner]>()
  const merged = new Map<string, { bucket: Owner; sets: FieldSet[] }>()
  for (const { identity, owner } of oldestFirst) {
    if (count <= limits.updateManagersMax) break
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
    count--
    // Upstream merges an older bucket whose turn it is with itself and then takes it away, so its fields have no owner.
    if (identity === key) {
      owners.delete(key)
      merged.delete(key)
      continue
    }
    let sets = merged.get(key)?.sets
    if (sets === undefined) {
      const before = owners.get(key)
      if (before === undefined) owners.delete(first[0])
      sets = [(before ?? first[1]).set]
    }
    owners.delete(identity)
    sets.push(owner.set)
    merged.set(key, { bucket, sets })
  }
  for (const [key, { bucket, sets }] of merged)
    owners.set(key, { ...bucket, set: unionOfAll(sets) })
}
