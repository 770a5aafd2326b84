/** Has a volume made for a claim: by the driver that its class names, or here. */
import path from 'node:path'
import { isAlreadyExists, messageOf } from '#client/errors.js'
import {
  type Claim,
  hostPathProvisioner,
  type StorageClass,
  type Volume,
} from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'
import { updateObject } from '../update-object.js'
import { component, volumesOf } from './binding.js'
import { makeFolder } from './make-folder.js'
import { externalProvisioner, hostPathVolume, rootOf } from './volume.js'

const storageProvisioner = 'volume.kubernetes.io/storage-provisioner'
const betaStorageProvisioner = 'volume.beta.kubernetes.io/storage-provisioner'

/** Drivers provision the claims that name them. */
const expectVolume = async (
  context: ControllerContext,
  claim: Claim,
  provisioner: string,
): Promise<void> => {
  const recorder = context.recorder(component)
  const name = externalProvisioner(provisioner)
  if (name === undefined) {
    const message = `no volume plugin matched name: ${provisioner}`
    recorder.event(claim, 'Warning', 'ProvisioningFailed', message)
    return
  }
  const { annotations } = claim.metadata
  if (annotations?.[storageProvisioner] !== name) {
    const named = { [betaStorageProvisioner]: name, [storageProvisioner]: name }
    const metadata = { ...claim.metadata, annotations: { ...annotations, ...named } }
    await updateObject(context, resources.persistentVolumeClaims, { ...claim, metadata })
  }
  const message = `Waiting for a volume to be created either by the external provisioner '${name}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
  recorder.event(claim, 'Normal', 'ExternalProvisioning', message)
}

/** Makes the folder and its volume. Throws what is wrong with the class, or the system's error. */
const makeVolume = async (
  { client }: ControllerContext,
  claim: Claim,
  storageClass: StorageClass,
): Promise<Volume> => {
  if (!path.isAbsolute(rootOf(storageClass)))
    throw new Error(`parameter path of the class is not absolute: ${rootOf(storageClass)}`)
  if (claim.spec.volumeMode === 'Block') throw new Error('a folder is no block volume')
  const volume = hostPathVolume(claim, storageClass)
  makeFolder(volume.spec.hostPath!.path)
  return client.create<Volume>(resources.persistentVolumes, volume)
}

/** The claim is bound to the volume when the volume is there. */
export const provision = async (
  context: ControllerContext,
  claim: Claim,
  className: string,
): Promise<void> => {
  const recorder = context.recorder(component)
  const storageClass = context.informers
    .for<StorageClass>(resources.storageClasses)
    .store.get(className)
  if (storageClass === undefined) {
    const message = `storageclass.storage.k8s.io "${className}" not found`
    recorder.event(claim, 'Warning', 'ProvisioningFailed', message)
    return
  }
  if (storageClass.provisioner !== hostPathProvisioner)
    return expectVolume(context, claim, storageClass.provisioner)
  try {
    const volume = await makeVolume(context, claim, storageClass)
    volumesOf(context).observe(volume)
    const message = `Successfully provisioned volume ${volume.metadata.name} using ${storageClass.provisioner}`
    recorder.event(claim, 'Normal', 'ProvisioningSucceeded', message)
  } catch (error) {
    if (isAlreadyExists(error)) return
    const message = `Failed to provision volume with StorageClass "${className}": ${messageOf(error)}`
    recorder.event(claim, 'Warning', 'ProvisioningFailed', message)
    throw error
  }
}
