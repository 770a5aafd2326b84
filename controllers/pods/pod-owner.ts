/** What the controllers of kinds that own Pods have in common: when they are woken, and which Pods are theirs. */
import type { KubeObject } from '#api/object.js'
import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { type LabelSelector, matchesSelector } from '#client/label-selector.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import {
  type Controller,
  type ControllerContext,
  controllerRefOf,
  enqueueOwn,
  enqueueOwner,
  newQueue,
  queueRun,
} from '../controller.js'
import { claim } from './owner.js'

export interface PodOwnerKind<T extends KubeObject> {
  /** As in `--controllers`. */
  name: string
  ref: ResourceRef
  selectorOf(owner: T): LabelSelector
  /** Registers what else wakes it, and gives the sync of one owner. */
  prepare(
    context: ControllerContext,
    owners: Informer<T>,
    queue: WorkQueue<string>,
  ): (owner: T) => Promise<{ afterMs: number } | undefined>
}

/** Woken by its own objects, by their Pods, and by Pods without a controller that a selector takes. */
export const podOwnerController = <T extends KubeObject>(kind: PodOwnerKind<T>): Controller => ({
  name: kind.name,
  start(context) {
    const owners = context.informers.for<T>(kind.ref)
    const pods = context.informers.for<Pod>(resources.pods)
    pods.store.addIndex('namespace', (pod) => [pod.metadata.namespace!])
    owners.store.addIndex('namespace', (owner) => [owner.metadata.namespace!])
    const queue = newQueue()
    enqueueOwn(owners, queue)
    enqueueOwner(pods, kind.ref, queue, (pod) => {
      for (const owner of owners.store.byIndex('namespace', pod.metadata.namespace!))
        if (matchesSelector(kind.selectorOf(owner), pod.metadata.labels)) queue.add(keyOf(owner))
    })
    const sync = kind.prepare(context, owners, queue)
    return queueRun(context, queue, async (key) => {
      const owner = owners.store.get(key)
      if (owner === undefined) return undefined
      try {
        return await sync(owner)
      } catch (error) {
        if (isNamespaceTerminating(error)) return undefined
        // It went away while we worked for it.
        if (isNotFound(error) && owners.store.get(key) === undefined) return undefined
        throw error
      }
    })
  },
})

/** The Pods of the owner's namespace that name it as their controller; our own writes are among them at once. */
export const ownPods = ({ informers }: ControllerContext, owner: KubeObject): Pod[] =>
  informers
    .for<Pod>(resources.pods)
    .store.byIndex('namespace', owner.metadata.namespace!)
    .filter((pod) => controllerRefOf(pod)?.uid === owner.metadata.uid)

/** Adopts and releases Pods of the namespace; yields those that are the owner's now. */
export const claimPods = (
  { client, informers }: ControllerContext,
  owner: KubeObject,
  {
    ref,
    selector,
    isCandidate = () => true,
  }: { ref: ResourceRef; selector: LabelSelector; isCandidate?: (pod: Pod) => boolean },
): Promise<Pod[]> => {
  const pods = informers.for<Pod>(resources.pods)
  return claim(pods.store.byIndex('namespace', owner.metadata.namespace!).filter(isCandidate), {
    client,
    ref,
    owner,
    selector,
    objectRef: resources.pods,
    observe: (pod: Pod) => pods.observe(pod),
  })
}
