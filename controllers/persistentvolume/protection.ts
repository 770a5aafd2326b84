/** Lets go of claims, volumes and classes that are deleted and no longer used (kubernetes, controller/volume/{pv,pvc,vac}protection). */
import { attributesClassesOf } from '#api/attributes-classes.js'
import type { PersistedObject } from '#api/object.js'
import { isNotFound } from '#client/errors.js'
import { claimNames, type Volume } from '#client/persistent-volume.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
} from '../controller.js'

const claimFinalizer = 'kubernetes.io/pvc-protection'
const volumeFinalizer = 'kubernetes.io/pv-protection'
const attributesClassFinalizer = 'kubernetes.io/vac-protection'

interface Protection {
  ref: ResourceRef
  finalizer: string
  isUsed(): boolean
}

/** What lives has the finalizer; what is deleted loses it once nobody uses it. */
const protect = async (
  { client, informers }: ControllerContext,
  object: PersistedObject | undefined,
  { ref, finalizer, isUsed }: Protection,
): Promise<void> => {
  if (object === undefined) return
  const isEnding = object.metadata.deletionTimestamp !== undefined
  const { finalizers = [] } = object.metadata
  const isProtected = finalizers.includes(finalizer)
  if (isEnding ? !isProtected || isUsed() : isProtected) return
  const others = finalizers.filter((f) => f !== finalizer)
  const metadata = { ...object.metadata, finalizers: isEnding ? others : [...others, finalizer] }
  try {
    const answer = await client.update(ref, { ...object, metadata })
    if (isEnding) informers.for(ref).observeDelete(object, answer)
    else informers.for(ref).observe(answer)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

export const claimProtectionController: Controller = {
  name: 'persistentvolumeclaim-protection-controller',
  start(context) {
    const { informers } = context
    const claims = informers.for(resources.persistentVolumeClaims)
    const pods = informers.for<Pod>(resources.pods)
    pods.store.addIndex('claim', (pod) =>
      // A Pod that no node has taken uses nothing yet. One that is over still does while its object is there.
      pod.spec.nodeName ? claimNames(pod).map((name) => `${pod.metadata.namespace}/${name}`) : [],
    )
    const queue = newQueue()
    enqueueOwn(claims, queue)
    const look = (pod: Pod): void => {
      for (const name of claimNames(pod)) queue.add(`${pod.metadata.namespace}/${name}`)
    }
    pods.handle({
      onDelete: look,
      onUpdate(next) {
        if (isPodTerminal(next)) look(next)
      },
    })
    return queueRun(context, queue, (key) =>
      protect(context, claims.store.get(key), {
        ref: resources.persistentVolumeClaims,
        finalizer: claimFinalizer,
        isUsed: () => pods.store.byIndex('claim', key).length > 0,
      }),
    )
  },
}

export const volumeProtectionController: Controller = {
  name: 'persistentvolume-protection-controller',
  start(context) {
    const volumes = context.informers.for<Volume>(resources.persistentVolumes)
    const queue = newQueue()
    enqueueOwn(volumes, queue)
    return queueRun(context, queue, (name) => {
      const volume = volumes.store.get(name)
      return protect(context, volume, {
        ref: resources.persistentVolumes,
        finalizer: volumeFinalizer,
        isUsed: () => volume?.status?.phase === 'Bound',
      })
    })
  },
}

export const attributesClassProtectionController: Controller = {
  name: 'volumeattributesclass-protection-controller',
  start(context) {
    const { informers } = context
    const classes = informers.for(resources.volumeAttributesClasses)
    const queue = newQueue()
    enqueueOwn(classes, queue)
    const look = (object: PersistedObject): void => {
      for (const name of attributesClassesOf(object)) queue.add(name)
    }
    const users = [resources.persistentVolumeClaims, resources.persistentVolumes].map((ref) => {
      const informer = informers.for(ref)
      informer.store.addIndex('attributes-class', attributesClassesOf)
      informer.handle({ onDelete: look, onUpdate: (_, previous) => look(previous) })
      return informer.store
    })
    return queueRun(context, queue, (name) =>
      protect(context, classes.store.get(name), {
        ref: resources.volumeAttributesClasses,
        finalizer: attributesClassFinalizer,
        isUsed: () => users.some((store) => store.byIndex('attributes-class', name).length > 0),
      }),
    )
  },
}
