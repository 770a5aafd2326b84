/** Rolls Deployments out over ReplicaSets; upstream's deployment-controller. One small step a sync, then the watch. */

import { controllerRefOf } from '#api/controller-ref.js'
import { isAlreadyExists, isNamespaceTerminating, messageOf } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import { byAge } from '../by-age.js'
import type { ControllerContext } from '../controller.js'
import { deleteAsSeen } from '../delete-object.js'
import { claimOwned, ownedBy, ownerController } from '../ownership/owner-controller.js'
import { updateObject, updateStatus } from '../update-object.js'
import {
  type Deployment,
  findNewSet,
  isSameTemplate,
  type OwnedSet,
  progressing,
  replicasOf,
  revisionAnnotation,
  revisionOf,
} from './deployment.js'
import { differs, makeNewSet, newSetAnnotations, sizeAnnotations } from './new-set.js'
import {
  isScaling,
  proportionalScale,
  recreateDown,
  recreateUp,
  rollingStep,
  type Scale,
} from './rollout.js'
import {
  deploymentStatus,
  failedNote,
  hasDeadline,
  msUntilDeadline,
  noted,
  setNote,
} from './status.js'

interface Sync {
  context: ControllerContext
  recorder: EventRecorder
  deployment: Deployment
  sets: OwnedSet[]
}
type Note = ReturnType<typeof setNote>

const observeSet = ({ context }: Sync, set: OwnedSet): OwnedSet => {
  context.informers.for<OwnedSet>(resources.replicaSets).observe(set)
  return set
}

const updateSet = async (sync: Sync, set: OwnedSet): Promise<OwnedSet> => {
  const next = await updateObject(sync.context, resources.replicaSets, set)
  sync.sets = sync.sets.map((s) => (s.metadata.uid === next.metadata.uid ? next : s))
  return next
}

const applyScale = async (sync: Sync, { set, replicas }: Scale): Promise<void> => {
  const { deployment, recorder } = sync
  const before = replicasOf(set)
  const metadata = {
    ...set.metadata,
    annotations: { ...set.metadata.annotations, ...sizeAnnotations(deployment) },
  }
  await updateSet(sync, { ...set, metadata, spec: { ...set.spec, replicas } })
  recorder.event(
    deployment,
    'Normal',
    'ScalingReplicaSet',
    `Scaled ${replicas > before ? 'up' : 'down'} replica set ${set.metadata.name} from ${before} to ${replicas}`,
  )
}

/**
 * The ReplicaSet of the current template, with correct annotations; its revision is the Deployment's, too. With `make` it
 * is created if missing.
 */
const newSetOf = async (
  sync: Sync,
  { make }: { readonly make: boolean },
): Promise<OwnedSet | undefined> => {
  const found = findNewSet(sync.deployment, sync.sets)
  const olds = sync.sets.filter((s) => s !== found)
  if (found !== undefined) return keepNewSet(sync, found, olds)
  return make ? createNewSet(sync, olds) : undefined
}

const keepNewSet = async (
  sync: Sync,
  found: OwnedSet,
  olds: readonly OwnedSet[],
): Promise<OwnedSet> => {
  const { deployment } = sync
  const annotations = newSetAnnotations(deployment, found, olds)
  const minReadySeconds = deployment.spec.minReadySeconds ?? 0
  const isRight =
    !differs(found, annotations) && (found.spec.minReadySeconds ?? 0) === minReadySeconds
  const newSet = isRight
    ? found
    : await updateSet(sync, {
        ...found,
        metadata: { ...found.metadata, annotations },
        spec: { ...found.spec, minReadySeconds },
      })
  const isNoted = progressing(deployment.status) !== undefined
  await tellOfSet(sync, newSet, isNoted ? undefined : setNote(newSet, false))
  return newSet
}

const createNewSet = async (sync: Sync, olds: readonly OwnedSet[]): Promise<OwnedSet> => {
  const { deployment, recorder, context } = sync
  const wanted = makeNewSet(deployment, olds)
  let newSet: OwnedSet
  try {
    newSet = await context.client.create<OwnedSet>(resources.replicaSets, wanted)
  } catch (error) {
    if (isAlreadyExists(error)) await resolveCollision(sync, wanted.metadata.name)
    else if (!isNamespaceTerminating(error)) await tellOfFailure(sync, wanted.metadata.name, error)
    throw error
  }
  sync.sets.push(observeSet(sync, newSet))
  if (replicasOf(newSet) > 0)
    recorder.event(
      deployment,
      'Normal',
      'ScalingReplicaSet',
      `Scaled up replica set ${newSet.metadata.name} from 0 to ${replicasOf(newSet)}`,
    )
  await tellOfSet(sync, newSet, setNote(newSet, true))
  return newSet
}

const tellOfFailure = async (sync: Sync, name: string, error: unknown): Promise<void> => {
  const message = `Failed to create new replica set "${name}": ${messageOf(error)}`
  sync.recorder.event(sync.deployment, 'Warning', 'ReplicaSetCreateError', message)
  if (hasDeadline(sync.deployment)) await writeNote(sync, sync.deployment, failedNote(message))
}

/** Another set has our name: increments the collision count, so that the next hash differs. */
const resolveCollision = async (sync: Sync, name: string): Promise<void> => {
  const { deployment, context } = sync
  const { namespace, uid } = deployment.metadata
  const taken = await context.client.get<OwnedSet>(resources.replicaSets, { namespace, name })
  observeSet(sync, taken)
  const isOurs =
    controllerRefOf(taken)?.uid === uid &&
    isSameTemplate(taken.spec.template, deployment.spec.template)
  if (isOurs) return
  const collisionCount = (deployment.status?.collisionCount ?? 0) + 1
  const status = { ...deployment.status, collisionCount }
  await updateStatus(context, resources.deployments, deployment, status)
}

/** `next` is the Deployment, perhaps with other annotations: written with the status they are no new generation. */
const writeNote = async (sync: Sync, next: Deployment, note: Note | undefined): Promise<void> => {
  const { context } = sync
  const status = note === undefined ? next.status : noted(next, note, context.clock.now())
  sync.deployment = await updateStatus(context, resources.deployments, next, status)
}

/**
 * The Deployment shows the revision of its new set, and that it was made or found. At once, as upstream: a later round,
 * after what comes next has failed, would know the set already.
 */
const tellOfSet = async (sync: Sync, newSet: OwnedSet, note: Note | undefined): Promise<void> => {
  const { deployment } = sync
  const revision = newSet.metadata.annotations?.[revisionAnnotation] ?? ''
  const wanted = hasDeadline(deployment) ? note : undefined
  if (wanted === undefined && deployment.metadata.annotations?.[revisionAnnotation] === revision)
    return
  const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: revision }
  await writeNote(
    sync,
    { ...deployment, metadata: { ...deployment.metadata, annotations } },
    wanted,
  )
}

const writeStatus = async (
  sync: Sync,
  newSet: OwnedSet | undefined,
  { rollsOut }: { readonly rollsOut: boolean },
): Promise<void> => {
  const { deployment, context, sets } = sync
  const status = deploymentStatus(deployment, newSet, sets, { now: context.clock.now(), rollsOut })
  const { terminatingReplicas = 0, ...rest } = deployment.status ?? {}
  const before = { ...rest, terminatingReplicas }
  if (!jsonEqual(before, status))
    await updateStatus(context, resources.deployments, deployment, status)
}

const oldSetsOf = ({ sets }: Sync, newSet: OwnedSet | undefined): OwnedSet[] =>
  sets.filter(({ metadata }) => metadata.uid !== newSet?.metadata.uid)

const isIdle = (set: OwnedSet): boolean =>
  replicasOf(set) === 0 &&
  (set.status?.replicas ?? 0) === 0 &&
  (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0)

/** Old sets without Pods beyond the history that is to be kept. */
const cleanUp = async (sync: Sync, newSet: OwnedSet | undefined): Promise<void> => {
  const { deployment, context } = sync
  const limit = deployment.spec.revisionHistoryLimit ?? 10
  const olds = oldSetsOf(sync, newSet)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .sort((a, b) => Number(revisionOf(a) - revisionOf(b)) || byAge(a, b))
  // Old ones that still have Pods stay, and nobody goes in their place.
  for (const set of olds.slice(0, Math.max(0, olds.length - limit)).filter(isIdle))
    await deleteAsSeen(context.client, resources.replicaSets, set)
}

const isComplete = ({ deployment }: Sync, newSet: OwnedSet): boolean => {
  const status = deployment.status ?? {}
  const wanted = replicasOf(deployment)
  return (
    (newSet.status?.availableReplicas ?? 0) === wanted &&
    (status.replicas ?? 0) === wanted &&
    (status.updatedReplicas ?? 0) === wanted
  )
}

/**
 * Whether Pods of an older template still run, for which a recreate waits. The sets' statuses may know of Pods that our
 * watch has not shown, and do not count terminating ones.
 */
const oldPodsRun = (sync: Sync, newSet: OwnedSet | undefined): boolean => {
  const podsOf = ({ metadata }: OwnedSet) => ownedBy<Pod>(sync.context, metadata, resources.pods)
  return oldSetsOf(sync, newSet).some(
    (set) => (set.status?.replicas ?? 0) > 0 || !podsOf(set).every(isPodTerminal),
  )
}

const rollOut = async (sync: Sync): Promise<OwnedSet | undefined> => {
  const recreate = sync.deployment.spec.strategy?.type === 'Recreate'
  if (recreate) {
    const present = await newSetOf(sync, { make: false })
    const down = recreateDown(oldSetsOf(sync, present))
    for (const step of down) await applyScale(sync, step)
    if (down.length > 0 || oldPodsRun(sync, present)) return present
  }
  const newSet = (await newSetOf(sync, { make: true }))!
  const olds = oldSetsOf(sync, newSet)
  const steps = recreate
    ? recreateUp(sync.deployment, newSet)
    : rollingStep(sync.deployment, newSet, olds)
  for (const step of steps) await applyScale(sync, step)
  if (steps.length === 0 && isComplete(sync, newSet)) await cleanUp(sync, newSet)
  return findNewSet(sync.deployment, sync.sets)
}

const scaleOnly = async (sync: Sync): Promise<OwnedSet | undefined> => {
  const newSet = await newSetOf(sync, { make: false })
  const olds = oldSetsOf(sync, newSet)
  const steps = proportionalScale(sync.deployment, newSet, olds)
  for (const step of steps) await applyScale(sync, step)
  // Sets whose size did not change need the annotations, too, or the Deployment would seem to be scaling for ever. A
  // single one that has its size keeps that which another strategy allowed. Upstream: scale.
  const active = sync.sets.filter((set) => replicasOf(set) > 0)
  for (const set of active)
    if (
      differs(set, sizeAnnotations(sync.deployment)) &&
      (active.length > 1 || isScaling(sync.deployment, active))
    )
      await rememberSize(sync, set)
  if (sync.deployment.spec.paused) await cleanUp(sync, newSet)
  return newSet
}

const rememberSize = async (sync: Sync, set: OwnedSet): Promise<void> => {
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(sync.deployment) }
  await updateSet(sync, { ...set, metadata: { ...set.metadata, annotations } })
}

const syncDeployment = async (
  context: ControllerContext,
  recorder: EventRecorder,
  deployment: Deployment,
): Promise<{ afterMs: number } | undefined> => {
  const claimed = await claimOwned<OwnedSet>(context, deployment, {
    ref: resources.deployments,
    owned: resources.replicaSets,
    selector: deployment.spec.selector,
  })
  const sync: Sync = { context, recorder, deployment, sets: claimed }
  if (deployment.metadata.deletionTimestamp !== undefined) {
    await writeStatus(sync, findNewSet(deployment, claimed), { rollsOut: false })
    return undefined
  }
  const rollsOut = !deployment.spec.paused && !isScaling(deployment, claimed)
  const newSet = rollsOut ? await rollOut(sync) : await scaleOnly(sync)
  await writeStatus(sync, newSet, { rollsOut })
  const afterMs = msUntilDeadline(sync.deployment, context.clock.now())
  return afterMs === undefined ? undefined : { afterMs }
}

export const deploymentController = ownerController<Deployment>({
  name: 'deployment-controller',
  ref: resources.deployments,
  owned: resources.replicaSets,
  queue: 'deployment',
  selectorOf: (deployment) => deployment.spec.selector,
  prepare(context, _deployments, queue) {
    const sets = context.informers.for<OwnedSet>(resources.replicaSets)
    const pods = context.informers.for<Pod>(resources.pods)
    const recorder = context.recorder('deployment-controller')
    // A recreate goes on when the last old Pod is gone.
    pods.handle({
      onDelete(pod) {
        const owner = controllerRefOf(pod)
        if (owner?.kind !== 'ReplicaSet') return
        const set = sets.store.get(`${pod.metadata.namespace}/${owner.name}`)
        const deployment = set === undefined ? undefined : controllerRefOf(set)
        if (deployment !== undefined) queue.add(`${pod.metadata.namespace}/${deployment.name}`)
      },
    })
    return (deployment) => syncDeployment(context, recorder, deployment)
  },
})
