/**
 * Who owns which field: `metadata.managedFields` of every write, and server-side apply. Pure, without HTTP or storage.
 *
 * When to call it (upstream's order): on the decoded, defaulted body in the version of the request, before mutating
 * admission and before the strategy's prepareForCreate/Update; so what admission adds belongs to nobody. Inside of a
 * compare-and-swap loop it runs again for each stored object. Writes that the server makes by itself (graceful delete,
 * finalizers of garbage collection, bindings) are not tracked.
 * At the very end, `keepManagedFieldsTimes(next, stored)` of ./times.js undoes new times when nothing else changed.
 *
 * The parts: field-set.ts (sets of paths, in their wire form), shared-sets.ts and set-results.ts (what is equal is one
 * object, and what was computed of it is not computed again), field-type.ts (how lists and maps of a type merge),
 * compare.ts, to-field-set.ts, merge-typed.ts and validate-typed.ts (walks over values of a type), updater.ts (owners
 * through a write), versions.ts and custom-versions.ts (owners in another version), awaited-conversions.ts (where a
 * webhook converts for them), managed-fields.ts (owners on the wire), check-patch.ts. Sets, types and walks come from
 * structured-merge-diff, what is around them from apimachinery, pkg/util/managedfields.
 */

import { formatTime } from '#api/clock.js'
import { failure } from '#api/errors.js'
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject, ManagedFieldsEntry } from '#api/object.js'
import { copyWith } from '#json/copy-with.js'
import { givenEmpty } from '#json/given-empty.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import type { ResourceDefinition } from '../resource-definition.js'
import { withConversions } from './awaited-conversions.js'
import { capOwners } from './cap-owners.js'
import { checkEntries, checkKind, checkPatch, describeObject } from './check-patch.js'
import { conflictStatus } from './conflict-status.js'
import { versionsOfCustom } from './custom-versions.js'
import { emptySet, hasPath, isEmptySet, setOfPath, union as unite } from './field-set.js'
import type { FieldType } from './field-type.js'
import { fieldsOfLastApplied, withLastApplied } from './last-applied.js'
import { TypeMismatch } from './list-item.js'
import {
  BadManagedFields,
  identityOf,
  isReset,
  type Owner,
  type Owners,
  readManagedFields,
  readOrNone,
  writeManagedFields,
} from './managed-fields.js'
import { difference, union } from './set-results.js'
import { shareSet } from './shared-sets.js'
import {
  type Applied,
  CannotConvert,
  FieldConflicts,
  ownersAfterApply,
  ownersAfterUpdate,
  type Versions,
  withSet,
} from './updater.js'
import { mismatchOf } from './validate-typed.js'
import { versionsOfKind, zeroObjectOf } from './versions.js'

interface Change {
  /** The stored object in the request's version; undefined on create. */
  readonly live: KubeObject | undefined
  /** `fieldManager`, or the first part of the User-Agent up to its slash. */
  readonly manager: string
  /** Empty for the main resource. */
  readonly subresource: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface FieldManager {
  /**
   * The managedFields that `next` must be stored with; undefined for none. Never throws: what cannot be tracked
   * (managedFields that lie, a conversion that fails) is left out, as upstream does. A promise only where a webhook has
   * to convert.
   */
  trackUpdate(
    change: Change & { readonly next: KubeObject },
  ): ManagedFieldsEntry[] | undefined | Promise<ManagedFieldsEntry[] | undefined>
  /**
   * Server-side apply: yields the merged object, to be decoded, defaulted and validated like an update. Throws ApiError:
   * 400 for a patch that carries what it may not, 409 for conflicts, 422 for managedFields that lie, 500 for what does
   * not fit the schema or cannot be converted. `live` undefined creates. A promise as above.
   */
  apply(
    change: Change & { readonly patch: JsonObject; readonly force: boolean },
  ): KubeObject | Promise<KubeObject>
}

interface FieldManagerDeps {
  /** The resource in the version of the requests. */
  readonly definition: ResourceDefinition
  /** The same resource in another version that is served. */
  readonly versionOf: (apiVersion: string) => ResourceDefinition | undefined
}

interface Scope {
  readonly definition: ResourceDefinition
  readonly apiVersion: string
  readonly versions: Versions
}

export const makeFieldManager = ({ definition, versionOf }: FieldManagerDeps): FieldManager => {
  const { isCustom, conversion } = definition
  const bySubresource = new Map<string, Scope>()
  const scopeOf = (versions: Versions): Scope => ({
    definition,
    apiVersion: formatGroupVersion(definition.gvk),
    versions,
  })
  const scopeAt = (subresource: string): Scope => {
    let scope = bySubresource.get(subresource)
    if (scope === undefined) {
      const versions = isCustom
        ? versionsOfCustom(definition, subresource)
        : versionsOfKind(definition, versionOf, subresource)
      scope = scopeOf(versions)
      bySubresource.set(subresource, scope)
    }
    return scope
  }
  const inScope = <T>(subresource: string, work: (scope: Scope) => T): T | Promise<T> =>
    isCustom && conversion?.isNominal === false
      ? withConversions(conversion.convert, (convert) =>
          work(scopeOf(versionsOfCustom(definition, subresource, convert))),
        )
      : work(scopeAt(subresource))
  return {
    trackUpdate: (change) => inScope(change.subresource, (scope) => trackUpdate(scope, change)),
    apply: (change) => inScope(change.subresource, (scope) => apply(scope, change)),
  }
}

/** Never owned: the server's, or the object's identity. */
const strippedFields = shareSet(
  [
    ['f:apiVersion'],
    ['f:kind'],
    ['f:metadata'],
    ...[
      'name',
      'namespace',
      'creationTimestamp',
      'selfLink',
      'uid',
      'clusterName',
      'generation',
      'managedFields',
      'resourceVersion',
    ].map((name) => ['f:metadata', `f:${name}`]),
  ]
    .map((path) => setOfPath(...path))
    .reduce(unite, emptySet),
)

export const withManagedFields = (
  object: KubeObject,
  entries: ManagedFieldsEntry[] | undefined,
): KubeObject => {
  const result = copyWith(object)
  if (entries === undefined) {
    const { managedFields: _old, ...metadata } = object.metadata ?? {}
    result.metadata = metadata
  } else {
    result.metadata = copyWith(object.metadata, { managedFields: entries })
  }
  return result
}

/** For a comparison, which passes over what is undefined: taking the field away altogether costs more. */
const untracked = (object: KubeObject): KubeObject => {
  if (object.metadata?.managedFields === undefined) return object
  const bare = { ...object }
  bare.metadata = { ...object.metadata }
  bare.metadata.managedFields = undefined
  return bare
}

/** Owners before an update: what the body says, if it says something that can be read, else what is stored. */
const ownersBefore = (
  live: KubeObject | undefined,
  next: KubeObject,
  subresource: string,
): Owners => {
  const stored = live?.metadata.managedFields
  if (subresource !== '') return readOrNone(stored)
  const given = next.metadata.managedFields
  if (isReset(given) || givenEmpty(next.metadata, 'managedFields') !== undefined) return new Map()
  if (given !== undefined && given !== null && given !== stored) {
    const owners = readOrNone(given)
    if (owners.size > 0) return owners
  }
  return readOrNone(stored)
}

const trackUpdate = (
  scope: Scope,
  change: Change & { next: KubeObject },
): ManagedFieldsEntry[] | undefined => {
  const { live, next, subresource } = change
  const owners = ownersBefore(live, next, subresource)
  // Nobody owns anything of an object that was never applied to: tracking begins with its creation or an apply.
  if (owners.size === 0 && live !== undefined) return undefined
  try {
    const after = trackOwners(scope, change, owners)
    const stored = live?.metadata.managedFields
    const entries = writeManagedFields(after)
    const same =
      entries?.length === stored?.length && entries?.every((entry, i) => entry === stored?.[i])
    return same === true ? stored : entries
  } catch (error) {
    if (!(error instanceof CannotConvert || error instanceof TypeMismatch)) throw error
    // Upstream leaves no garbage: what cannot be tracked has no owners.
    return undefined
  }
}

const trackOwners = (
  scope: Scope,
  { live, next, manager, subresource, now }: Change & { next: KubeObject },
  before: Owners,
): Owners => {
  const { definition, apiVersion } = scope
  // The schema of a custom resource may have changed since: what does not fit it cannot be tracked.
  if (definition.schemaName === undefined && definition.structuralSchema !== undefined) {
    const type = scope.versions.typeOf(apiVersion)!
    for (const object of live === undefined ? [next] : [live, next]) {
      const mismatch = mismatchOf(untracked(object), type, { allowDuplicates: true })
      if (mismatch !== undefined) throw new CannotConvert(mismatch)
    }
  }
  const { owners, changed } = ownersAfterUpdate(
    {
      versions: scope.versions,
      live: untracked(live ?? zeroObjectOf(definition)),
      apiVersion,
      owners: before,
    },
    untracked(next),
  )
  const own = difference(changed, strippedFields)
  if (!isEmptySet(own)) {
    const writer: Owner = {
      manager: manager === '' ? 'unknown' : manager,
      operation: 'Update',
      apiVersion,
      subresource,
      time: formatTime(now),
      set: own,
    }
    const identity = identityOf(writer)
    const previous = owners.get(identity)
    owners.set(
      identity,
      previous === undefined ? writer : withSet(writer, union(previous.set, own)),
    )
  }
  capOwners(owners)
  return owners
}

const apply = (
  scope: Scope,
  change: Change & { patch: JsonObject; force: boolean },
): KubeObject => {
  const { definition, apiVersion } = scope
  const { patch, force, manager, subresource, now } = change
  const type = scope.versions.typeOf(apiVersion)!
  const live = change.live ?? zeroObjectOf(definition)
  const bare = withManagedFields(live, undefined)
  checkKind(definition, patch)
  const owners = ownersBeforeApply(scope, change, bare)
  checkPatch(definition, patch, type)
  checkLive(definition, bare, type)
  const applier: Owner = {
    manager: manager === '' ? 'unknown' : manager,
    operation: 'Apply',
    apiVersion,
    subresource,
    time: undefined,
    set: emptySet,
  }
  const identity = identityOf(applier)
  const attempt = (forced: boolean): Applied =>
    ownersAfterApply(
      { versions: scope.versions, live: bare, apiVersion, owners },
      {
        patch,
        applier: { ...applier, time: owners.get(identity)?.time },
        identity,
        force: forced,
      },
    )
  const applied = attemptWithLastApplied(attempt, { live: bare, manager, force, apiVersion, type })
  checkEntries(definition, patch)
  const after = applied.owners
  keepOwn(after, identity, applied.object === undefined ? undefined : formatTime(now))
  const result = applied.object === undefined ? bare : (applied.object as KubeObject)
  // In metadata that the patch has made null upstream sets nothing (SetNestedField): the object has no name, and is refused.
  if (!isJsonObject(result.metadata)) return result
  const object = manager === 'kubectl' ? withLastApplied(result, patch) : result
  return withManagedFields(object, writeManagedFields(after))
}

/** What is stored of a built-in kind was decoded by its type; the schema of a custom one may have changed since. */
const checkLive = (definition: ResourceDefinition, live: KubeObject, type: FieldType): void => {
  if (definition.schemaName !== undefined) return
  const mismatch = mismatchOf(live, type, { allowDuplicates: true })
  if (mismatch === undefined) return
  throw failure({
    code: 500,
    message: `failed to create typed live object (${describeObject(live, definition)}): ${mismatch}`,
  })
}

/** The applier owns everything that may be owned, since `time` if something changed. */
const keepOwn = (owners: Owners, identity: string, time: string | undefined): void => {
  const own = owners.get(identity)
  if (own === undefined) return
  const set = difference(own.set, strippedFields)
  if (isEmptySet(set)) owners.delete(identity)
  else owners.set(identity, { ...withSet(own, set), time: time ?? own.time })
}

/** The fields of an object without owners belong to the manager `before-first-apply`. */
const ownersBeforeApply = (scope: Scope, change: Change, live: KubeObject): Owners => {
  let owners: Owners
  try {
    owners = readManagedFields(change.live?.metadata.managedFields)
  } catch (error) {
    if (!(error instanceof BadManagedFields)) throw error
    throw failure({ code: 500, message: `failed to decode managed fields: ${error.message}` })
  }
  if (owners.size > 0 || change.live === undefined) return owners
  try {
    return trackOwners(
      scope,
      { ...change, live: undefined, next: live, manager: 'before-first-apply' },
      owners,
    )
  } catch (error) {
    if (!(error instanceof CannotConvert || error instanceof TypeMismatch)) throw error
    const object = describeObject(live, scope.definition)
    const type = scope.versions.typeOf(scope.apiVersion)!
    const why = mismatchOf(live, type, { allowDuplicates: true }) ?? error.message
    throw failure({
      code: 500,
      message: `failed to create manager for existing fields: failed to convert new object (${object}) to smd typed: ${why}`,
    })
  }
}

const attemptWithLastApplied = (
  attempt: (force: boolean) => Applied,
  options: {
    live: KubeObject
    manager: string
    force: boolean
    apiVersion: string
    type: Parameters<typeof mismatchOf>[1]
  },
): Applied => {
  try {
    return attempt(options.force)
  } catch (error) {
    if (error instanceof CannotConvert) throw failure({ code: 500, message: error.message })
    if (!(error instanceof FieldConflicts)) throw error
    const allowed =
      options.manager === 'kubectl'
        ? fieldsOfLastApplied(options.live, options.apiVersion, options.type)
        : undefined
    if (allowed === undefined) throw conflictStatus(error.conflicts)
    const left = error.conflicts.filter(({ path }) => !hasPath(allowed, path))
    if (left.length > 0) throw conflictStatus(left)
    return attempt(true)
  }
}
