/** Brings claims and volumes together; upstream's persistentvolume-binder-controller, for volumes that need no cloud. */
import { conditionOf } from '#api/conditions.js'
import { isNotFound } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import {
  type Claim,
  chooseVolume,
  claimNames,
  type StorageClass,
  type Volume,
} from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
} from '../controller.js'
import { claimsOf, volumesOf } from './binding.js'
import { podsByClaim } from './pods-by-claim.js'
import { awaitsPod, syncClaim } from './sync-claim.js'
import { syncVolume } from './sync-volume.js'

/** A Pod that cannot be placed: its claims wait for it. */
const isStuck = (pod: Pod): boolean =>
  !pod.spec.nodeName && conditionOf(pod, 'PodScheduled')?.status === 'False'

export const persistentVolumeBinderController: Controller = {
  name: 'persistentvolume-binder-controller',
  serviceAccount: 'persistent-volume-binder',
  start(context) {
    const claims = claimsOf(context)
    const volumes = volumesOf(context)
    const classes = context.informers.for<StorageClass>(resources.storageClasses)
    const claimQueue = newQueue(context, 'claims')
    const volumeQueue = newQueue(context, 'volumes')
    enqueueOwn(claims, claimQueue)
    enqueueOwn(volumes, volumeQueue)
    volumes.store.addIndex('claim', ({ spec: { claimRef } }) =>
      claimRef?.uid ? [claimRef.uid] : [],
    )
    claims.store.addIndex('unbound', ({ status }) => (status?.phase === 'Bound' ? [] : ['']))
    claims.store.addIndex('volume', ({ spec: { volumeName } }) => (volumeName ? [volumeName] : []))
    const waiting = (mayConcern: (claim: Claim) => boolean): void => {
      for (const claim of claims.store.byIndex('unbound', ''))
        if (mayConcern(claim)) claimQueue.add(keyOf(claim))
    }
    // A claim may have few Events: others are not for it.
    const lookAtClaims = (volume: Volume): void => {
      const { metadata } = volume
      waiting((claim) => chooseVolume(claim, [volume], awaitsPod(context, claim)) !== undefined)
      // One that is bound may have lost its volume.
      for (const claim of claims.store.byIndex('volume', metadata.name))
        claimQueue.add(keyOf(claim))
    }
    // A claim may go before it knows of its volume, or get another.
    const lookAtVolumes = ({ metadata }: Claim): void => {
      for (const volume of volumes.store.byIndex('claim', metadata.uid))
        volumeQueue.add(keyOf(volume))
    }
    const lookAtAll = (): void => waiting(() => true)
    classes.handle({ onAdd: lookAtAll, onUpdate: lookAtAll })
    volumes.handle({ onAdd: lookAtClaims, onUpdate: lookAtClaims, onDelete: lookAtClaims })
    claims.handle({ onUpdate: lookAtVolumes, onDelete: lookAtVolumes })
    podsByClaim(context).handle({
      onUpdate(next, previous) {
        if (!isStuck(next) || isStuck(previous)) return
        for (const name of claimNames(next)) claimQueue.add(`${next.metadata.namespace}/${name}`)
      },
    })
    const unlessGone =
      (sync: (context: ControllerContext, key: string) => Promise<void>) =>
      async (key: string): Promise<void> => {
        try {
          await sync(context, key)
        } catch (error) {
          if (!isNotFound(error)) throw error
        }
      }
    // One claim at a time: two must not choose the same volume.
    const runClaims = queueRun(context, claimQueue, unlessGone(syncClaim), 1)
    const runVolumes = queueRun(context, volumeQueue, unlessGone(syncVolume), 2)
    return async (signal) => {
      await Promise.all([runClaims(signal), runVolumes(signal)])
    }
  },
}
