/** What a claim gets: the volume that it names, one that is there, or one that somebody makes (kubernetes, syncClaim). */
import { isDefaultStorageClass, newestDefault } from '#api/default-class.js'
import { namedStorageClass } from '#api/storage-class.js'
import { keyOf } from '#client/object-store.js'
import {
  bindCompleted,
  boundByController,
  type Claim,
  chooseVolume,
  classOf,
  isFor,
  mismatchOf,
  type StorageClass,
  selectedNode,
  type Volume,
  waitsForConsumer,
} from '#client/persistent-volume.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'
import { updateObject } from '../update-object.js'
import { bind, claimsOf, component, setClaimPhase, volumesOf } from './binding.js'
import { provision } from './provision.js'

/** A reason and a message. */
type Told = readonly [reason: string, message: string]

/** Why a claim that has been bound has no volume any more (syncBoundClaim). */
const lossOf = (claim: Claim, volume: Volume | undefined): Told | undefined => {
  const { volumeName } = claim.spec
  if (!volumeName)
    return [
      'ClaimLost',
      'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    ]
  if (volume === undefined)
    return ['ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!']
  const { claimRef } = volume.spec
  return claimRef === undefined || claimRef.uid === claim.metadata.uid
    ? undefined
    : ['ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly']
}

/** A volume that belongs to nobody is bound again: it may as well be that only its watch is behind. */
const syncBound = async (context: ControllerContext, claim: Claim): Promise<void> => {
  const volume = volumesOf(context).store.get(claim.spec.volumeName ?? '')
  const loss = lossOf(claim, volume)
  if (loss === undefined) return bind(context, claim, volume!)
  if (claim.status?.phase === 'Lost') return
  await setClaimPhase(context, claim, 'Lost')
  context.recorder(component).event(claim, 'Warning', ...loss)
}

/** Why a claim does not get the volume that it names. */
const refusalOf = (claim: Claim, volume: Volume): Told | undefined => {
  const name = JSON.stringify(volume.metadata.name)
  if (volume.spec.claimRef === undefined) {
    const mismatch = mismatchOf(volume, claim)
    return mismatch === undefined
      ? undefined
      : ['VolumeMismatch', `Cannot bind to requested volume ${name}: ${mismatch}`]
  }
  return isFor(volume, claim)
    ? undefined
    : ['FailedBinding', `volume ${name} already bound to a different claim.`]
}

/** One that names its volume waits for that very one. */
const syncNamed = async (context: ControllerContext, claim: Claim): Promise<void> => {
  const volume = volumesOf(context).store.get(claim.spec.volumeName!)
  const refusal = volume && refusalOf(claim, volume)
  if (volume !== undefined && refusal === undefined) return bind(context, claim, volume)
  if (refusal !== undefined) context.recorder(component).event(claim, 'Warning', ...refusal)
  const isOurs = claim.metadata.annotations?.[boundByController] !== undefined
  if (refusal?.[0] !== 'FailedBinding' || !isOurs) await setClaimPhase(context, claim, 'Pending')
}

const waitingFor = (context: ControllerContext, claim: Claim): Told => {
  const pods = context.informers
    .for<Pod>(resources.pods)
    .store.byIndex('claim', keyOf(claim))
    .filter((pod) => !pod.spec.nodeName && !isPodTerminal(pod))
    .map(({ metadata }) => metadata.name)
  if (pods.length === 0)
    return ['WaitForFirstConsumer', 'waiting for first consumer to be created before binding']
  const noun = pods.length === 1 ? 'pod' : 'pods'
  return ['WaitForPodScheduled', `waiting for ${noun} ${pods.join(',')} to be scheduled`]
}

/** Whether only the scheduler can say which volume the claim gets. */
export const awaitsPod = ({ informers }: ControllerContext, claim: Claim): boolean =>
  waitsForConsumer(informers.for<StorageClass>(resources.storageClasses).store.get(classOf(claim)))

const syncUnnamed = async (context: ControllerContext, claim: Claim): Promise<void> => {
  const waits = awaitsPod(context, claim)
  const volume = chooseVolume(claim, volumesOf(context).store.list(), waits)
  if (volume !== undefined) return bind(context, claim, volume)
  // A claim may be older than the class that it gets.
  const classes = context.informers.for<StorageClass>(resources.storageClasses).store
  const isNamed = namedStorageClass(claim) !== undefined
  const fallback = isNamed ? undefined : newestDefault(classes.list(), isDefaultStorageClass)
  if (fallback !== undefined) {
    const spec = { ...claim.spec, storageClassName: fallback.metadata.name }
    await updateObject(context, resources.persistentVolumeClaims, { ...claim, spec })
    return
  }
  const tell = (told: Told): void => context.recorder(component).event(claim, 'Normal', ...told)
  if (waits && claim.metadata.annotations?.[selectedNode] === undefined)
    tell(waitingFor(context, claim))
  else if (classOf(claim) !== '') return provision(context, claim, classOf(claim))
  else {
    const message = 'no persistent volumes available for this claim and no storage class is set'
    tell(['FailedBinding', message])
  }
  await setClaimPhase(context, claim, 'Pending')
}

export const syncClaim = async (context: ControllerContext, key: string): Promise<void> => {
  const claim = claimsOf(context).store.get(key)
  if (claim === undefined) return
  if (claim.metadata.annotations?.[bindCompleted] !== undefined) return syncBound(context, claim)
  await (claim.spec.volumeName ? syncNamed(context, claim) : syncUnnamed(context, claim))
}
