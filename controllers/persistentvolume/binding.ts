/** Writes what claims and volumes say of each other. */

import {
  bindCompleted,
  boundByController,
  boundTo,
  type Claim,
  type Volume,
} from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import type { ControllerContext } from '../controller.js'
import { updateObject, updateStatus } from '../update-object.js'

export const component = 'persistentvolume-controller'

export const claimsOf = ({ informers }: ControllerContext) =>
  informers.for<Claim>(resources.persistentVolumeClaims)
export const volumesOf = ({ informers }: ControllerContext) =>
  informers.for<Volume>(resources.persistentVolumes)

export const setVolumePhase = async (
  context: ControllerContext,
  volume: Volume,
  phase: string,
  message?: string,
): Promise<Volume> => {
  if (volume.status?.phase === phase) return volume
  const status = { ...volume.status, phase, message }
  return updateStatus(context, resources.persistentVolumes, volume, status)
}

/** The status of a claim with that phase, and with what it knows of its volume, if it has one (updateClaimStatus). */
const claimStatus = ({ status }: Claim, phase: string, volume?: Volume): Claim['status'] => {
  const { accessModes, capacity, currentVolumeAttributesClassName, ...rest } = status ?? {}
  if (volume === undefined) return { ...rest, phase }
  const { spec } = volume
  const isNew = status?.phase !== phase
  // From then on it is who modifies the volume that says so.
  const attributesClass =
    status?.phase === 'Pending' ? spec.volumeAttributesClassName : currentVolumeAttributesClassName
  // A file system may well be smaller than its volume.
  const size = isNew ? spec.capacity : capacity
  return {
    ...rest,
    phase,
    accessModes: spec.accessModes,
    ...(size === undefined ? {} : { capacity: size }),
    ...(attributesClass === undefined ? {} : { currentVolumeAttributesClassName: attributesClass }),
  }
}

/** Says whether anything changed. */
export const setClaimPhase = async (
  context: ControllerContext,
  claim: Claim,
  phase: string,
  volume?: Volume,
): Promise<boolean> => {
  const status = claimStatus(claim, phase, volume)
  if (jsonEqual(status, claim.status)) return false
  await updateStatus(context, resources.persistentVolumeClaims, claim, status)
  return true
}

/** The volume promises first, the claim answers: killed in between, the promise is found again. */
export const bind = async (
  context: ControllerContext,
  claim: Claim,
  found: Volume,
): Promise<void> => {
  let volume = found
  if (volume.spec.claimRef?.uid !== claim.metadata.uid)
    volume = await updateObject(context, resources.persistentVolumes, boundTo(volume, claim))
  volume = await setVolumePhase(context, volume, 'Bound')
  const answered = await answer(context, claim, volume)
  await setClaimPhase(context, answered, 'Bound', volume)
}

const answer = async (
  context: ControllerContext,
  claim: Claim,
  { metadata: { name } }: Volume,
): Promise<Claim> => {
  const isNamed = claim.spec.volumeName === name
  if (isNamed && claim.metadata.annotations?.[bindCompleted] !== undefined) return claim
  const annotations = {
    ...claim.metadata.annotations,
    [bindCompleted]: 'yes',
    ...(isNamed ? {} : { [boundByController]: 'yes' }),
  }
  return updateObject(context, resources.persistentVolumeClaims, {
    ...claim,
    metadata: { ...claim.metadata, annotations },
    spec: { ...claim.spec, volumeName: name },
  })
}

/** Takes back a promise to a claim that has another volume. One that somebody else made still names the claim. */
export const unbind = async (context: ControllerContext, volume: Volume): Promise<void> => {
  const { [boundByController]: byUs, ...annotations } = volume.metadata.annotations ?? {}
  const { claimRef, ...spec } = volume.spec
  const { uid, ...reserved } = claimRef ?? {}
  const metadata = { ...volume.metadata, annotations }
  const free = await updateObject(
    context,
    resources.persistentVolumes,
    byUs === undefined
      ? { ...volume, spec: { ...spec, claimRef: reserved } }
      : { ...volume, metadata, spec },
  )
  await setVolumePhase(context, free, 'Available')
}
