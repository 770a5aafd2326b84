/** Owner references of what a controller makes, and the claim on what it finds. */
import { controllerRefOf } from '#api/controller-ref.js'
import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { OwnerReference, PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isInvalid, isNotFound } from '#client/errors.js'
import { apiVersionOf, type ResourceRef } from '#client/resources.js'

/** What of an object an owner reference to it says. */
export interface Owner {
  readonly metadata: { readonly name: string; readonly uid: string }
}

export const ownerReference = (ref: ResourceRef, owner: Owner): OwnerReference => ({
  apiVersion: apiVersionOf(ref),
  kind: ref.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
})

interface ClaimOptions<T> {
  client: Client
  /** Of the owner. */
  ref: ResourceRef
  owner: PersistedObject
  selector: LabelSelector | undefined
  /** What an object has to be beside its labels. */
  isMember?: ((object: T) => boolean) | undefined
  /** Of the objects. */
  objectRef: ResourceRef
  observe(object: T): void
  /** A finalizer that adopted objects get, in the same patch. */
  finalizer?: string | undefined
}

type Claim = 'mine' | 'adopt' | 'release' | 'other'

const claimOf = <T extends PersistedObject>(
  object: T,
  { owner, selector, isMember = () => true }: ClaimOptions<T>,
): Claim => {
  const controller = controllerRefOf(object)
  const matches = matchesSelector(selector, object.metadata.labels) && isMember(object)
  if (controller !== undefined) {
    if (controller.uid !== owner.metadata.uid) return 'other'
    if (matches) return 'mine'
    return owner.metadata.deletionTimestamp === undefined ? 'release' : 'other'
  }
  const alive =
    object.metadata.deletionTimestamp === undefined &&
    owner.metadata.deletionTimestamp === undefined
  return matches && alive ? 'adopt' : 'other'
}

/**
 * Those of the objects that belong to the owner. One that is no member, or has lost its labels, is released; one that has
 * them and no controller is adopted. Throws where that must not be: an owner that has just been deleted may have released
 * objects, which it would miss and make again. Upstream: ControllerRefManager.
 */
export const claim = async <T extends PersistedObject>(
  objects: readonly T[],
  options: ClaimOptions<T>,
): Promise<T[]> => {
  const mine: T[] = []
  let checked = false
  for (const object of objects) {
    const is = claimOf(object, options)
    if (is === 'mine') mine.push(object)
    else if (is === 'release') await patchOwner(object, options, 'release')
    else if (is === 'adopt') {
      if (!checked) await checkOwnerIsLive(options)
      checked = true
      const adopted = await patchOwner(object, options, 'adopt')
      if (adopted !== undefined) mine.push(adopted)
    }
  }
  return mine
}

/** What the watch knows of the owner may be old: a namesake of a deleted one must not adopt for it. */
const checkOwnerIsLive = async ({ client, ref, owner }: ClaimOptions<never>): Promise<void> => {
  const { namespace, name, uid } = owner.metadata
  const live = await client.get(ref, { namespace, name }, { metadataOnly: true })
  if (live.metadata.uid !== uid || live.metadata.deletionTimestamp !== undefined)
    throw new Error(`${ref.kind} ${namespace}/${name} of uid ${uid} has just been deleted`)
}

const guarded = (
  { metadata: { finalizers = [] } }: PersistedObject,
  { finalizer }: ClaimOptions<never>,
): { finalizers?: string[] } =>
  finalizer === undefined || finalizers.includes(finalizer)
    ? {}
    : { finalizers: [...finalizers, finalizer] }

const patchOwner = async <T extends PersistedObject>(
  object: T,
  options: ClaimOptions<T>,
  what: 'adopt' | 'release',
): Promise<T | undefined> => {
  const { client, ref, owner, objectRef } = options
  const { namespace, name, uid, resourceVersion } = object.metadata
  const others = (object.metadata.ownerReferences ?? []).filter((o) => o.uid !== owner.metadata.uid)
  const changes =
    what === 'adopt'
      ? { ownerReferences: [...others, ownerReference(ref, owner)], ...guarded(object, options) }
      : { ownerReferences: others }
  try {
    const patched = await client.patch<T>(
      objectRef,
      { namespace, name },
      { metadata: { uid, resourceVersion, ...changes } },
      { type: 'merge' },
    )
    options.observe(patched)
    return patched
  } catch (error) {
    if (isNotFound(error) || isInvalid(error)) return undefined
    throw error
  }
}
