/** What the controllers of kinds that own others have in common: when they are woken, and which objects are theirs. */
import { controllerRefOf } from '#api/controller-ref.js'
import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { NamespacedObject } from '#api/object.js'
import type { Informer } from '#client/informer.js'
import { keyOf, type ObjectStore } from '#client/object-store.js'
import type { ResourceRef } from '#client/resources.js'
import type { SyncResult, WorkQueue, WorkQueueOptions } from '#client/work-queue.js'
import { whileSeeing } from '../blind.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwner,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { claim } from './claim.js'

interface OwnerKind<T extends NamespacedObject> {
  /** As in `--controllers`. */
  name: string
  serviceAccount?: string
  ref: ResourceRef
  /** What it owns: Pods, or the sets that own them. */
  owned: ResourceRef
  /** Upstream's name of its queue. */
  queue: string
  selectorOf(owner: T): LabelSelector | undefined
  /** How long it waits after a sync that failed; client-go's default when it is not given. */
  backoff?: WorkQueueOptions
  /** How long news of what it owns, and of its own status, is gathered before they wake it, ms; not at all when not given. */
  gatherMs?: number
  /** Registers what else wakes it, and gives the sync of one owner. */
  prepare(
    context: ControllerContext,
    owners: Informer<T>,
    queue: WorkQueue,
  ): (owner: T) => SyncResult
}

/** Woken by its own objects, by what they own, and by objects without a controller that a selector takes. */
export const ownerController = <T extends NamespacedObject>(kind: OwnerKind<T>): Controller => ({
  name: kind.name,
  ...(kind.serviceAccount === undefined ? {} : { serviceAccount: kind.serviceAccount }),
  start(context) {
    const owners = context.informers.for<T>(kind.ref)
    const owned = context.informers.for<NamespacedObject>(kind.owned)
    const queue = newQueue(context, kind.queue, kind.backoff)
    const gathered = { add: (key: string) => queue.addAfter(key, kind.gatherMs ?? 0) }
    owners.handle({
      onAdd: (owner) => queue.add(keyOf(owner)),
      onUpdate(next, { metadata: { generation } }) {
        const wakes = next.metadata.generation === generation ? gathered : queue
        wakes.add(keyOf(next))
      },
      onDelete: (owner) => queue.add(keyOf(owner)),
    })
    enqueueOwner(owned, kind.ref, gathered, (object) => {
      for (const owner of owners.store.byIndex('namespace', object.metadata.namespace))
        if (matchesSelector(kind.selectorOf(owner), object.metadata.labels))
          gathered.add(keyOf(owner))
    })
    const sync = syncStored(owners, kind.prepare(context, owners, queue))
    return queueRun(context, queue, whileSeeing(owned, sync))
  },
})

/** Index by namespace and the uid of the controller; an object that nobody controls is under no uid. */
const byController = 'controller'

const storeOf = <T extends NamespacedObject>(
  { informers }: ControllerContext,
  owned: ResourceRef,
): ObjectStore<T> => {
  const { store } = informers.for<T>(owned)
  store.addIndex(byController, (object) => [
    `${object.metadata.namespace}/${controllerRefOf(object)?.uid ?? ''}`,
  ])
  return store
}

/** The objects of the owner's namespace that name it as their controller; our own writes are among them at once. */
export const ownedBy = <T extends NamespacedObject>(
  context: ControllerContext,
  { namespace, uid }: Pick<NamespacedObject['metadata'], 'namespace' | 'uid'>,
  owned: ResourceRef,
): T[] => storeOf<T>(context, owned).byIndex(byController, `${namespace}/${uid}`)

/** The same, and those that nobody controls. */
export const ownedOrFree = <T extends NamespacedObject>(
  context: ControllerContext,
  owner: Pick<NamespacedObject['metadata'], 'namespace' | 'uid'>,
  owned: ResourceRef,
): T[] => [
  ...ownedBy<T>(context, owner, owned),
  ...ownedBy<T>(context, { namespace: owner.namespace, uid: '' }, owned),
]

interface ClaimOwned<T extends NamespacedObject> {
  /** Of the owner. */
  ref: ResourceRef
  owned: ResourceRef
  selector: LabelSelector | undefined
  /** Others stay with whom they are. */
  isCandidate?(object: T): boolean
  /** Others are not adopted, and released. */
  isMember?(object: T): boolean
  finalizer?: string
}

/** Adopts and releases objects of the namespace; yields those that are the owner's now. */
export const claimOwned = <T extends NamespacedObject>(
  context: ControllerContext,
  owner: NamespacedObject,
  { owned, isCandidate = () => true, ...options }: ClaimOwned<T>,
): Promise<T[]> => {
  const candidates = ownedOrFree<T>(context, owner.metadata, owned)
  return claim(candidates.filter(isCandidate), {
    ...options,
    client: context.client,
    owner,
    objectRef: owned,
    observe: (object: T) => context.informers.for<T>(owned).observe(object),
  })
}
