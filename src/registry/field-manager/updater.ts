/**
 * Owners through a write: who loses what was changed, who gets it, what an applier gave up, who is in conflict.
 * Source of the rules: structured-merge-diff, merge/update.go.
 */
import { oncePer, oncePerObject } from '#async/once.js'
import { addToList } from '#collections/add-to-list.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { type Comparison, compareObjects, nothingChanged } from './compare.js'
import { type FieldSet, isEmptySet, pathsOf, unionOfAll } from './field-set.js'
import type { FieldType } from './field-type.js'
import type { Owner, Owners } from './managed-fields.js'
import { mergeObjects, removeFields } from './merge-typed.js'
import { difference, intersection, recursiveDifference, union } from './set-results.js'
import { fieldSetOf, reconcileSet, withNamedFields } from './to-field-set.js'

/** The versions of one kind. */
export interface Versions {
  /** Undefined for versions that are not served: their owners are forgotten. */
  typeOf(apiVersion: string): FieldType | undefined
  /** The object in another version; undefined when there is none. Throws CannotConvert. */
  convert(object: JsonObject, apiVersion: string): JsonObject | undefined
  /** Fields that writes of this resource or subresource never change, so never own. */
  resetFields(apiVersion: string): FieldSet
}

/** An object that does not fit another version, though there is one. */
export class CannotConvert extends Error {}

const converting = <T>(what: string, convert: () => T): T => {
  try {
    return convert()
  } catch (error) {
    throw error instanceof CannotConvert ? new CannotConvert(`${what}: ${error.message}`) : error
  }
}

export interface FieldConflict {
  readonly owner: Owner
  readonly path: readonly string[]
}
export class FieldConflicts extends Error {
  readonly conflicts: readonly FieldConflict[]
  constructor(conflicts: readonly FieldConflict[]) {
    super('conflicts with other managers')
    this.conflicts = conflicts
  }
}

interface Write {
  readonly versions: Versions
  readonly live: JsonObject
  readonly apiVersion: string
  readonly owners: Owners
  /** Identity of the writer. */
  readonly writer: string
}

const filtered = (comparison: Comparison, reset: FieldSet): Comparison =>
  isEmptySet(reset)
    ? comparison
    : {
        added: recursiveDifference(comparison.added, reset),
        modified: recursiveDifference(comparison.modified, reset),
        removed: recursiveDifference(comparison.removed, reset),
      }

const compareIn = (
  { versions, live }: Write,
  next: JsonObject,
  apiVersion: string,
): Comparison | undefined => {
  const type = versions.typeOf(apiVersion)
  if (type === undefined) return undefined
  const before = converting('failed to convert old object', () =>
    inVersion(versions, live, apiVersion),
  )
  const after = converting('failed to convert new object', () =>
    inVersion(versions, next, apiVersion),
  )
  if (before === undefined || after === undefined) return undefined
  return filtered(compareObjects(before, after, type), versions.resetFields(apiVersion))
}

interface Changes {
  readonly given: FieldSet
  readonly removed: FieldSet
}

/** Takes from everyone else what the write changed. */
const takeFromOthers = (
  write: Write,
  next: JsonObject,
  force: boolean,
): { owners: Owners; comparison: Comparison } => {
  const comparison = compareIn(write, next, write.apiVersion) ?? nothingChanged
  const changesIn = oncePer((apiVersion): Changes | null => {
    const compared =
      apiVersion === write.apiVersion ? comparison : compareIn(write, next, apiVersion)
    if (compared === undefined) return null
    return { given: union(compared.modified, compared.added), removed: compared.removed }
  })
  const owners: Owners = new Map()
  const conflicts: FieldConflict[] = []
  for (const [identity, owner] of write.owners) {
    if (identity === write.writer) {
      if (!isEmptySet(owner.set)) owners.set(identity, owner)
      continue
    }
    const changes = changesIn(owner.apiVersion)
    if (changes === null) continue
    const taken = intersection(owner.set, changes.given)
    if (!force) {
      for (const path of pathsOf(taken)) conflicts.push({ owner, path })
    }
    const left = difference(difference(owner.set, taken), changes.removed)
    if (!isEmptySet(left)) owners.set(identity, withSet(owner, left))
  }
  if (conflicts.length > 0) throw new FieldConflicts(conflicts)
  return { owners, comparison }
}

export const withSet = (owner: Owner, set: FieldSet): Owner =>
  set === owner.set ? owner : { ...owner, set }

/**
 * What lies under types that became atomic is owned as a whole now; owners in versions that are gone go. Upstream looks at
 * the live object in the version of each owner: where that cannot be had, this is what throws, and its text stands alone.
 */
const reconcileOwners = (
  { versions, live, apiVersion }: Omit<Write, 'writer'>,
  owners: Owners,
): Owners => {
  const result: Owners = new Map()
  const converted = new Set([apiVersion])
  for (const [identity, owner] of owners) {
    if (!converted.has(owner.apiVersion)) versions.convert(live, owner.apiVersion)
    converted.add(owner.apiVersion)
    const type = versions.typeOf(owner.apiVersion)
    if (type !== undefined) result.set(identity, withSet(owner, reconcileSet(owner.set, type)))
  }
  return result
}

/** A write that is no apply: yields the owners after it and the fields that the writer changed. */
export const ownersAfterUpdate = (
  write: Omit<Write, 'writer'>,
  next: JsonObject,
): { owners: Owners; changed: FieldSet } => {
  const { versions, live, apiVersion } = write
  const reconciled = reconcileOwners(write, write.owners)
  const { owners, comparison } = takeFromOthers(
    { versions, live, apiVersion, owners: reconciled, writer: '' },
    next,
    true,
  )
  return { owners, changed: union(comparison.modified, comparison.added) }
}

export interface Applied {
  /** Undefined when the apply changes no value. */
  readonly object: JsonObject | undefined
  readonly owners: Owners
}

/** Throws FieldConflicts unless forced. `applier` has nothing in its set yet. */
export const ownersAfterApply = (
  write: Omit<Write, 'writer'>,
  options: { patch: JsonObject; applier: Owner; identity: string; force: boolean },
): Applied => {
  const { versions, live, apiVersion } = write
  const { patch, applier, identity } = options
  const type = versions.typeOf(apiVersion)!
  const owners = reconcileOwners(write, write.owners)
  const last = owners.get(identity)
  const claimed = recursiveDifference(fieldSetOf(patch, type), versions.resetFields(apiVersion))
  owners.set(identity, { ...applier, set: claimed })
  const merged = mergeObjects(live, patch, type)
  // An applier that claims all that it claimed before gives nothing up; carried through the versions of the others the
  // object may change, or turn out not to fit; and an entry that is claimed without a field goes when nobody owns one.
  const keepsAll =
    last === undefined ||
    (isEmptySet(difference(last.set, claimed)) &&
      !hasBareEntry(claimed) &&
      [...owners.values(), last].every((owner) => owner.apiVersion === apiVersion))
  const object = keepsAll
    ? merged
    : converting('failed to prune fields', () => prune(write, merged, owners, last))
  const after = takeFromOthers(
    { versions, live, apiVersion, owners, writer: identity },
    object,
    options.force,
  )
  return { object: jsonEqual(live, object) ? undefined : object, owners: after.owners }
}

const findsBareEntry = (set: FieldSet): boolean => {
  for (const element in set) {
    const under = set[element] as FieldSet
    if (isEmptySet(under) ? element.startsWith('k:') : findsBareEntry(under)) return true
  }
  return false
}

/** Whether there is an entry of which only its place in the list is claimed: its keys are defaults. */
const hasBareEntry = oncePerObject(findsBareEntry)

/** Removes what the applier claimed before and claims no more, unless someone else owns it. */
const prune = (
  write: Write | Omit<Write, 'writer'>,
  merged: JsonObject,
  owners: Owners,
  last: Owner,
): JsonObject => {
  const { versions, apiVersion } = write
  const type = versions.typeOf(last.apiVersion)
  if (isEmptySet(last.set) || type === undefined) return merged
  const converted = converting('failed to convert merged object to last applied version', () =>
    inVersion(versions, merged, last.apiVersion),
  )
  if (converted === undefined) return merged
  const lastNamed = withNamedFields(last.set, type)
  const pruned = converting('failed add back owned items', () =>
    addBackOwned(versions, converted, removeFields(converted, lastNamed, type), owners),
  )
  const notBack =
    'failed add back dangling items: failed to convert pruned object to last applied version'
  const back = converting(notBack, () => inVersion(versions, pruned, last.apiVersion))
  if (back === undefined) return merged
  const prunedNamed = withNamedFields(fieldSetOf(back, type), type)
  const mergedNamed = withNamedFields(fieldSetOf(converted, type), type)
  // Only what the applier had claimed may go: what became dangling by its leaving stays.
  const gone = intersection(difference(mergedNamed, prunedNamed), lastNamed)
  const result = isEmptySet(gone) ? converted : removeFields(converted, gone, type)
  return inVersion(versions, result, apiVersion) ?? merged
}

const inVersion = (
  versions: Versions,
  object: JsonObject,
  apiVersion: string,
): JsonObject | undefined =>
  object.apiVersion === apiVersion ? object : versions.convert(object, apiVersion)

/**
 * Puts back what other owners, in whichever version, still hold. What is carried from one version to the next stays as
 * that one made it (merge/update.go, addBackOwnedItems).
 */
const addBackOwned = (
  versions: Versions,
  merged: JsonObject,
  pruned: JsonObject,
  owners: Owners,
): JsonObject => {
  const managed = new Map<string, FieldSet[]>()
  const isHere = (owner: Owner) => Number(owner.apiVersion === merged.apiVersion)
  for (const { apiVersion, set } of [...owners.values()].sort((a, b) => isHere(b) - isHere(a))) {
    addToList(managed, apiVersion, set)
  }
  let [whole, part] = [merged, pruned]
  for (const [version, sets] of managed) {
    const set = unionOfAll(sets)
    const type = versions.typeOf(version)
    const at = (what: string) => `failed to convert ${what} object at version ${version}`
    const nextWhole = converting(at('merged'), () => inVersion(versions, whole, version))
    const nextPart = converting(at('pruned'), () => inVersion(versions, part, version))
    if (type === undefined || nextWhole === undefined || nextPart === undefined) continue
    whole = nextWhole
    const left = withNamedFields(fieldSetOf(nextPart, type), type)
    const kept = union(left, withNamedFields(set, type))
    const gone = difference(withNamedFields(fieldSetOf(whole, type), type), kept)
    part = isEmptySet(gone) ? whole : removeFields(whole, gone, type)
  }
  return part
}
