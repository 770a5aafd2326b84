/** Brings claims and volumes together; upstream's persistentvolume-binder-controller, for volumes that need no cloud. */
import { isAlreadyExists, isNotFound } from '#client/errors.js'
import { keyOf, type ObjectStore } from '#client/object-store.js'
import {
  bindCompleted,
  boundByController,
  type Claim,
  claimReference,
  findVolume,
  promisedVolume,
  type StorageClass,
  selectedNode,
  type Volume,
  waitsForConsumer,
} from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
} from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { readLive } from '../read-live.js'
import { updateObject, updateStatus } from '../update-object.js'
import {
  deleterOf,
  externalProvisioner,
  hostPathProvisioner,
  hostPathVolume,
  migrationAnnotations,
} from './volume.js'

const component = 'persistentvolume-controller'
const storageProvisioner = 'volume.kubernetes.io/storage-provisioner'
const betaStorageProvisioner = 'volume.beta.kubernetes.io/storage-provisioner'

const claimsOf = ({ informers }: ControllerContext) =>
  informers.for<Claim>(resources.persistentVolumeClaims)
const volumesOf = ({ informers }: ControllerContext) =>
  informers.for<Volume>(resources.persistentVolumes)

const setVolumePhase = async (
  context: ControllerContext,
  volume: Volume,
  phase: string,
  message?: string,
): Promise<Volume> => {
  if (volume.status?.phase === phase && volume.status.message === message) return volume
  const status = { ...volume.status, phase, message }
  return updateStatus(context, resources.persistentVolumes, volume, status)
}

/** The volume promises first, the claim answers: killed in between, the promise is found again. */
const bind = async (context: ControllerContext, claim: Claim, found: Volume): Promise<void> => {
  let volume = found
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
    const byUs = volume.spec.claimRef === undefined
    const annotations = {
      ...volume.metadata.annotations,
      ...(byUs ? { [boundByController]: 'yes' } : {}),
    }
    volume = await updateObject(context, resources.persistentVolumes, {
      ...volume,
      metadata: { ...volume.metadata, annotations },
      spec: { ...volume.spec, claimRef: claimReference(claim) },
    })
  }
  volume = await setVolumePhase(context, volume, 'Bound')
  await answer(context, claim, volume)
}

const answer = async (context: ControllerContext, claim: Claim, volume: Volume): Promise<void> => {
  let current = claim
  const isSaid =
    claim.spec.volumeName === volume.metadata.name &&
    claim.metadata.annotations?.[bindCompleted] !== undefined
  if (!isSaid) {
    const annotations = {
      ...claim.metadata.annotations,
      [bindCompleted]: 'yes',
      ...(claim.spec.volumeName ? {} : { [boundByController]: 'yes' }),
    }
    current = await updateObject(context, resources.persistentVolumeClaims, {
      ...claim,
      metadata: { ...claim.metadata, annotations },
      spec: { ...claim.spec, volumeName: volume.metadata.name },
    })
  }
  if (current.status?.phase === 'Bound') return
  const { accessModes, capacity, volumeAttributesClassName } = volume.spec
  const status = {
    ...current.status,
    phase: 'Bound',
    accessModes,
    capacity,
    // From then on it is who modifies the volume that says so.
    ...(current.status?.phase === 'Pending' && volumeAttributesClassName !== undefined
      ? { currentVolumeAttributesClassName: volumeAttributesClassName }
      : {}),
  }
  await updateStatus(context, resources.persistentVolumeClaims, current, status)
}

/** Why a claim that has been bound has no volume any more (syncBoundClaim), with the reason that its event has. */
const lossOf = (claim: Claim, volumes: ObjectStore<Volume>): [string, string] | undefined => {
  const { volumeName } = claim.spec
  if (!volumeName)
    return [
      'ClaimLost',
      'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    ]
  const volume = volumes.get(volumeName)
  if (volume === undefined)
    return ['ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!']
  const { claimRef } = volume.spec
  return claimRef === undefined || claimRef.uid === claim.metadata.uid
    ? undefined
    : ['ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly']
}

/** What the status says of the volume goes with it. */
const loseVolume = async (
  context: ControllerContext,
  claim: Claim,
  [reason, message]: [string, string],
): Promise<void> => {
  if (claim.status?.phase === 'Lost') return
  const { accessModes, capacity, currentVolumeAttributesClassName, ...rest } = claim.status ?? {}
  const status = { ...rest, phase: 'Lost' }
  await updateStatus(context, resources.persistentVolumeClaims, claim, status)
  context.recorder(component).event(claim, 'Warning', reason, message)
}

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

const provision = async (context: ControllerContext, claim: Claim): Promise<void> => {
  const { client, informers, recorder } = context
  const name = claim.spec.storageClassName
  if (!name) {
    recorder(component).event(
      claim,
      'Normal',
      'FailedBinding',
      'no persistent volumes available for this claim and no storage class is set',
    )
    return
  }
  const storageClass = informers.for<StorageClass>(resources.storageClasses).store.get(name)
  if (storageClass === undefined) {
    const message = `storageclass.storage.k8s.io "${name}" not found`
    recorder(component).event(claim, 'Warning', 'ProvisioningFailed', message)
    return
  }
  if (waitsForConsumer(storageClass) && claim.metadata.annotations?.[selectedNode] === undefined) {
    const message = 'waiting for first consumer to be created before binding'
    recorder(component).event(claim, 'Normal', 'WaitForFirstConsumer', message)
    return
  }
  if (storageClass.provisioner !== hostPathProvisioner)
    return expectVolume(context, claim, storageClass.provisioner)
  const wanted = hostPathVolume(claim, storageClass)
  try {
    const volume = await client.create<Volume>(resources.persistentVolumes, wanted)
    volumesOf(context).observe(volume)
    const message = `Successfully provisioned volume ${volume.metadata.name} using ${storageClass.provisioner}`
    recorder(component).event(claim, 'Normal', 'ProvisioningSucceeded', message)
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
}

const syncClaim = async (context: ControllerContext, key: string): Promise<void> => {
  const claim = claimsOf(context).store.get(key)
  if (claim === undefined) return
  const volumes = volumesOf(context).store
  const isBound = claim.metadata.annotations?.[bindCompleted] !== undefined
  const loss = isBound ? lossOf(claim, volumes) : undefined
  if (loss !== undefined) return loseVolume(context, claim, loss)
  if (claim.metadata.deletionTimestamp !== undefined) return
  const { store } = context.informers.for<StorageClass>(resources.storageClasses)
  const waits =
    waitsForConsumer(store.get(claim.spec.storageClassName ?? '')) &&
    claim.metadata.annotations?.[selectedNode] === undefined
  // Which volume suits a claim that waits for its Pod, only the scheduler can say.
  const find = (): Volume | undefined =>
    (waits ? promisedVolume : findVolume)(claim, volumes.list())
  // One that names its volume waits for that very one.
  if (find() === undefined && !claim.spec.volumeName) await provision(context, claim)
  const volume = find()
  if (volume !== undefined) await bind(context, claim, volume)
}

/** A volume whose claim is gone is kept or given up as it says. */
const syncVolume = async (context: ControllerContext, name: string): Promise<void> => {
  const known = volumesOf(context).store.get(name)
  if (known === undefined) return
  const annotations = migrationAnnotations(known)
  const volume =
    annotations === undefined
      ? known
      : await updateObject(context, resources.persistentVolumes, {
          ...known,
          metadata: { ...known.metadata, annotations },
        })
  const { claimRef } = volume.spec
  if (claimRef === undefined) {
    await setVolumePhase(context, volume, 'Available')
    return
  }
  if (!claimRef.uid) {
    if (volume.status?.phase === undefined) await setVolumePhase(context, volume, 'Available')
    return
  }
  const claim = claimsOf(context).store.get(`${claimRef.namespace}/${claimRef.name}`)
  if (claim?.metadata.uid === claimRef.uid) return
  // Whoever made the volume for a claim has seen that claim; our watch of claims may be behind.
  if (await readLive(context, resources.persistentVolumeClaims, claimRef)) return
  const released =
    volume.status?.phase === 'Failed' ? volume : await setVolumePhase(context, volume, 'Released')
  const { persistentVolumeReclaimPolicy: policy, hostPath, nfs } = volume.spec
  if (policy === 'Delete') await reclaim(context, released)
  else if (policy === 'Recycle' && hostPath === undefined && nfs === undefined)
    await fail(context, released, 'VolumeFailedRecycle', 'No recycler plugin found for the volume!')
}

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

/** Deletes a released volume, if that is up to us and nobody has changed it meanwhile. */
const reclaim = async (context: ControllerContext, volume: Volume): Promise<void> => {
  if (volume.metadata.deletionTimestamp !== undefined) return
  const deleter = deleterOf(volume)
  if (deleter === 'binder')
    await deleteObject(context, resources.persistentVolumes, volume, { unchanged: true })
  else if (deleter !== 'driver') await fail(context, volume, 'VolumeFailedDelete', deleter.problem)
}

export const persistentVolumeBinderController: Controller = {
  name: 'persistentvolume-binder-controller',
  start(context) {
    const claims = claimsOf(context)
    const volumes = volumesOf(context)
    const classes = context.informers.for<StorageClass>(resources.storageClasses)
    const claimQueue = newQueue()
    const volumeQueue = newQueue()
    enqueueOwn(claims, claimQueue)
    enqueueOwn(volumes, volumeQueue)
    const waiting = (): void => {
      for (const claim of claims.store.list())
        if (claim.status?.phase !== 'Bound') claimQueue.add(keyOf(claim))
    }
    classes.handle({ onAdd: waiting })
    volumes.handle({
      onAdd: waiting,
      onUpdate: waiting,
      onDelete: ({ spec: { claimRef } }) => {
        waiting()
        // A claim that is bound has lost its volume.
        if (claimRef !== undefined) claimQueue.add(keyOf({ metadata: claimRef }))
      },
    })
    volumes.store.addIndex('claim', ({ spec: { claimRef } }) =>
      claimRef?.uid ? [claimRef.uid] : [],
    )
    claims.handle({
      // The claim may have gone before it knew of its volume.
      onDelete: ({ metadata }) => {
        for (const volume of volumes.store.byIndex('claim', metadata.uid))
          volumeQueue.add(keyOf(volume))
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
