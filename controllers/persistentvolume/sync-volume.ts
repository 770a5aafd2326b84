/** What becomes of a volume: it waits for a claim, belongs to one, or is kept or given up as it says (syncVolume). */
import { messageOf } from '#client/errors.js'
import { type Claim, isModeOf, type Volume } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { removeTree } from '#program/remove-tree.js'
import type { ControllerContext } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { readLive } from '../read-live.js'
import { updateObject } from '../update-object.js'
import { claimsOf, component, setVolumePhase, unbind, volumesOf } from './binding.js'
import { deleterOf, isProvisioned, migrationAnnotations, ownFolder } from './volume.js'

const fail = async (
  context: ControllerContext,
  volume: Volume,
  reason: string,
  problem: string,
): Promise<void> => {
  if (volume.status?.phase === 'Failed') return
  await setVolumePhase(context, volume, 'Failed', problem)
  context.recorder(component).event(volume, 'Warning', reason, problem)
}

/** False: somebody has written to the volume, perhaps to keep it, and our watch has yet to tell (deleteVolumeOperation). */
const emptied = async (
  context: ControllerContext,
  volume: Volume,
  folder: string,
): Promise<boolean> => {
  const { metadata } = volume
  const live = await readLive<Volume>(context, resources.persistentVolumes, metadata)
  if (live?.metadata.resourceVersion !== metadata.resourceVersion) return false
  try {
    await removeTree(folder)
    return true
  } catch (error) {
    await fail(context, volume, 'VolumeFailedDelete', messageOf(error))
    throw error
  }
}

/** Deletes a released volume, if that is up to us and nobody has changed it meanwhile. */
const deleteReleased = async (context: ControllerContext, volume: Volume): Promise<void> => {
  if (volume.metadata.deletionTimestamp !== undefined) return
  const deleter = deleterOf(volume)
  if (deleter === 'driver') return
  if (deleter !== 'binder') return fail(context, volume, 'VolumeFailedDelete', deleter.problem)
  const folder = ownFolder(volume)
  if (folder !== undefined && !(await emptied(context, volume, folder))) return
  await deleteObject(context, resources.persistentVolumes, volume, { unchanged: true })
}

const release = async (context: ControllerContext, volume: Volume): Promise<void> => {
  const released =
    volume.status?.phase === 'Failed' ? volume : await setVolumePhase(context, volume, 'Released')
  const { persistentVolumeReclaimPolicy: policy, hostPath, nfs } = volume.spec
  if (policy === 'Delete') await deleteReleased(context, released)
  else if (policy === 'Recycle' && hostPath === undefined && nfs === undefined)
    await fail(context, released, 'VolumeFailedRecycle', 'No recycler plugin found for the volume!')
}

/** The volume of a claim that does not say yet which one it has; the claim's sync binds it, or cannot. */
const tellMode = (context: ControllerContext, claim: Claim, volume: Volume): void => {
  if (isModeOf(volume, claim)) return
  const recorder = context.recorder(component)
  const tell = (object: Claim | Volume, what: string): void =>
    recorder.event(object, 'Warning', 'VolumeMismatch', `Cannot bind ${what} volumeMode.`)
  const { name } = claim.metadata
  const asked = `PersistentVolume to requested PersistentVolumeClaim ${JSON.stringify(name)} due to incompatible`
  tell(volume, asked)
  const given = `PersistentVolume ${JSON.stringify(volume.metadata.name)} to requested PersistentVolumeClaim due to incompatible`
  tell(claim, given)
}

const withMigration = async (context: ControllerContext, volume: Volume): Promise<Volume> => {
  const annotations = migrationAnnotations(volume)
  if (annotations === undefined) return volume
  const metadata = { ...volume.metadata, annotations }
  return updateObject(context, resources.persistentVolumes, { ...volume, metadata })
}

export const syncVolume = async (context: ControllerContext, name: string): Promise<void> => {
  const known = volumesOf(context).store.get(name)
  if (known === undefined) return
  const volume = await withMigration(context, known)
  const { claimRef } = volume.spec
  if (!claimRef?.uid) {
    await setVolumePhase(context, volume, 'Available')
    return
  }
  const named = claimsOf(context).store.get(`${claimRef.namespace}/${claimRef.name}`)
  // Whoever made the volume for a claim has seen that claim; our watch of claims may be behind.
  const claim =
    named?.metadata.uid === claimRef.uid
      ? named
      : await readLive<Claim>(context, resources.persistentVolumeClaims, claimRef)
  if (claim === undefined) return release(context, volume)
  const { volumeName } = claim.spec
  if (!volumeName) tellMode(context, claim, volume)
  else if (volumeName === name) await setVolumePhase(context, volume, 'Bound')
  // The claim has got another one. What was made for it alone is of no use any more.
  else if (isProvisioned(volume) && volume.spec.persistentVolumeReclaimPolicy === 'Delete')
    await release(context, volume)
  else await unbind(context, volume)
}
