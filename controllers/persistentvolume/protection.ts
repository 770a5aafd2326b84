/**
 * Removes the finalizers of deleted claims, volumes and classes that are not used any more (kubernetes,
 * controller/volume/{pv,pvc,vac}protection).
 */

import { attributesClassesOf } from '#api/attributes-classes.js'
import { controllerRefOf } from '#api/controller-ref.js'
import type { PersistedObject } from '#api/object.js'
import { protectionFinalizers } from '#api/protection-finalizers.js'
import { isNotFound } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import { type Claim, claimNameOf, claimNames, type Volume } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
} from '../controller.js'
import { inParallel } from '../pods/pod-control.js'
import { podsByClaim } from './pods-by-claim.js'

/** Pause before another check if only the live read found a user: the informer may also miss its end. */
const untoldMs = 1_000

interface Protection {
  ref: ResourceRef
  finalizer: string
  /** As far as the informers know. */
  isUsed(): boolean
  /** As the server knows: informers of the users may be behind the informer of the used. */
  isUsedNow?(): Promise<boolean>
}

const isEnding = ({ metadata }: PersistedObject): boolean =>
  metadata.deletionTimestamp !== undefined

const isProtected = ({ metadata }: PersistedObject, finalizer: string): boolean =>
  (metadata.finalizers ?? []).includes(finalizer)

/** Adds the finalizer to living objects and removes it from deleted ones that nobody uses. */
const protect = async (
  { client, informers }: ControllerContext,
  object: PersistedObject | undefined,
  { ref, finalizer, isUsed, isUsedNow }: Protection,
): Promise<{ afterMs: number } | undefined> => {
  if (object === undefined || isEnding(object) !== isProtected(object, finalizer)) return undefined
  if (isEnding(object) && isUsed()) return undefined
  if (isEnding(object) && (await isUsedNow?.())) return { afterMs: untoldMs }
  const others = (object.metadata.finalizers ?? []).filter((f) => f !== finalizer)
  const finalizers = isEnding(object) ? others : [...others, finalizer]
  try {
    const answer = await client.update(ref, {
      ...object,
      metadata: { ...object.metadata, finalizers },
    })
    if (isEnding(object)) informers.for(ref).observeDelete(object, answer)
    else informers.for(ref).observe(answer)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  return undefined
}

/** With grace 0 the kubelet is done with it, and only finalizers hold it (pvc_protection_controller.go, podIsShutDown). */
const isShutDown = ({ metadata }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0

/**
 * A Pod that no node has taken uses nothing yet. One that is over still does while its object is there; but a Pod that
 * waits for the end of a claim of its own, which waits for the end of the Pod, would wait for ever.
 */
const usesClaim = (pod: Pod, claim: PersistedObject): boolean =>
  Boolean(pod.spec.nodeName) &&
  (pod.spec.volumes ?? []).some(
    (volume) =>
      claimNameOf(pod, volume) === claim.metadata.name &&
      (volume.persistentVolumeClaim !== undefined ||
        (!isShutDown(pod) && controllerRefOf(claim)?.uid === pod.metadata.uid)),
  )

/** Works on all claims of a namespace at once, so that they share one live list of its Pods, as upstream. */
export const claimProtectionController: Controller = {
  name: 'persistentvolumeclaim-protection-controller',
  serviceAccount: 'pvc-protection-controller',
  start(context) {
    const { client, informers } = context
    const claims = informers.for<Claim>(resources.persistentVolumeClaims)
    const pods = podsByClaim(context)
    claims.store.addIndex('unsettled', (claim) =>
      isEnding(claim) === isProtected(claim, protectionFinalizers.claim)
        ? [claim.metadata.namespace]
        : [],
    )
    const queue = newQueue(context, 'pvcprotection')
    const look = (object: Claim | Pod): void => queue.add(object.metadata.namespace)
    claims.handle({ onAdd: look, onUpdate: look })
    const lookAtClaims = (pod: Pod): void => {
      if (claimNames(pod).length > 0) look(pod)
    }
    pods.handle({
      onDelete: lookAtClaims,
      onUpdate(next) {
        if (isShutDown(next)) lookAtClaims(next)
      },
    })
    return queueRun(context, queue, async (namespace) => {
      let listed: Promise<{ items: Pod[] }> | undefined
      let again: { afterMs: number } | undefined
      await inParallel(claims.store.byIndex('unsettled', namespace), async (claim) => {
        const key = keyOf(claim)
        const later = await protect(context, claim, {
          ref: resources.persistentVolumeClaims,
          finalizer: protectionFinalizers.claim,
          isUsed: () => pods.store.byIndex('claim', key).some((pod) => usesClaim(pod, claim)),
          async isUsedNow() {
            listed ??= client.list<Pod>(resources.pods, { namespace })
            return (await listed).items.some((pod) => usesClaim(pod, claim))
          },
        })
        again ??= later
      })
      return again
    })
  },
}

export const volumeProtectionController: Controller = {
  name: 'persistentvolume-protection-controller',
  serviceAccount: 'pv-protection-controller',
  start(context) {
    const volumes = context.informers.for<Volume>(resources.persistentVolumes)
    const queue = newQueue(context, 'pvprotection')
    enqueueOwn(volumes, queue)
    return queueRun(context, queue, (name) => {
      const volume = volumes.store.get(name)
      return protect(context, volume, {
        ref: resources.persistentVolumes,
        finalizer: protectionFinalizers.volume,
        isUsed: () => volume?.status?.phase === 'Bound',
      })
    })
  },
}

/** Upstream knows only what its informers know, and says that a claim or volume made last may lose its class. */
export const attributesClassProtectionController: Controller = {
  name: 'volumeattributesclass-protection-controller',
  start(context) {
    const { client, informers } = context
    const classes = informers.for(resources.volumeAttributesClasses)
    const queue = newQueue(context, 'vacprotection')
    enqueueOwn(classes, queue)
    const look = (object: PersistedObject): void => {
      for (const name of attributesClassesOf(object)) queue.add(name)
    }
    const users = [resources.persistentVolumes, resources.persistentVolumeClaims].map((ref) => {
      const informer = informers.for(ref)
      informer.store.addIndex('attributes-class', attributesClassesOf)
      informer.handle({ onDelete: look, onUpdate: (_, previous) => look(previous) })
      return informer
    })
    return queueRun(context, queue, (name) =>
      protect(context, classes.store.get(name), {
        ref: resources.volumeAttributesClasses,
        finalizer: protectionFinalizers.attributesClass,
        isUsed: () => users.some(({ store }) => store.byIndex('attributes-class', name).length > 0),
        async isUsedNow() {
          const lists = await Promise.all(users.map(({ ref }) => client.list(ref)))
          return lists.some(({ items }) =>
            items.some((object) => attributesClassesOf(object).includes(name)),
          )
        },
      }),
    )
  },
}
