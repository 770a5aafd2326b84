/** Makes the claims that Pods describe in their own volumes; upstream's ephemeral-volume-controller. */
import { controllerRefOf } from '#api/controller-ref.js'
import type { ObjectMeta } from '#api/object.js'
import { isNamespaceTerminating, messageOf } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import { claimNameOf } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { ownerReference } from '../ownership/claim.js'
import { enqueuePodOfLostClaim, orTellOf } from '../pods/claims-of-pods.js'

interface EphemeralVolume {
  name: string
  ephemeral?: { volumeClaimTemplate: { metadata?: ObjectMeta; spec: unknown } }
}
const ephemeralVolumes = (pod: Pod): EphemeralVolume[] =>
  ((pod.spec.volumes ?? []) as EphemeralVolume[]).filter((v) => v.ephemeral !== undefined)

const makeClaim = async (
  { client, informers }: ControllerContext,
  pod: Pod,
  volume: EphemeralVolume,
): Promise<void> => {
  const claims = informers.for(resources.persistentVolumeClaims)
  const { namespace } = pod.metadata
  const name = claimNameOf(pod, volume)!
  const known = claims.store.get(`${namespace}/${name}`)
  if (known !== undefined) {
    if (controllerRefOf(known)?.uid === pod.metadata.uid) return
    throw new Error(
      `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
    )
  }
  const { metadata, spec } = volume.ephemeral!.volumeClaimTemplate
  try {
    const created = await client.create(resources.persistentVolumeClaims, {
      metadata: {
        name,
        namespace,
        labels: { ...metadata?.labels },
        annotations: { ...metadata?.annotations },
        ownerReferences: [ownerReference(resources.pods, pod)],
      },
      spec,
    })
    claims.observe(created)
  } catch (error) {
    if (isNamespaceTerminating(error)) throw error
    throw new Error(`create PVC ${name}: ${messageOf(error)}`)
  }
}

export const ephemeralVolumeController: Controller = {
  name: 'ephemeral-volume-controller',
  start(context) {
    const { informers, recorder } = context
    const pods = informers.for<Pod>(resources.pods)
    const claims = informers.for(resources.persistentVolumeClaims)
    const queue = newQueue(context, 'ephemeral_volume')
    pods.handle({
      onAdd(pod) {
        if (ephemeralVolumes(pod).length > 0) queue.add(keyOf(pod))
      },
    })
    enqueuePodOfLostClaim(claims, queue)
    return queueRun(
      context,
      queue,
      syncStored(pods, async (pod) => {
        if (pod.metadata.deletionTimestamp !== undefined) return
        for (const volume of ephemeralVolumes(pod)) {
          const about = `ephemeral volume ${volume.name}`
          await orTellOf(
            { recorder: recorder('ephemeral_volume'), pod, reason: 'FailedBinding', about },
            () => makeClaim(context, pod, volume),
          )
        }
      }),
    )
  },
}
