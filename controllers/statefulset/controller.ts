/** Keeps StatefulSets; upstream's statefulset-controller. */

import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { isAlreadyExists, isConflict, isNamespaceTerminating, messageOf } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import { jsonEqual } from '#json/object.js'
import type { ControllerContext } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import type { Owner } from '../ownership/claim.js'
import { claimOwned, ownedBy, ownerController } from '../ownership/owner-controller.js'
import { lookWhenAvailable } from '../pods/availability.js'
import { slowStart } from '../pods/pod-control.js'
import {
  type ControllerRevision,
  RevisionHistory,
  revisionOf,
  templateOf,
} from '../pods/revisions.js'
import { updateObject, updateStatus } from '../update-object.js'
import {
  claimName,
  hasItsLabels,
  identified,
  isInRange,
  mountsItsClaims,
  ordinalOf,
  podName,
  type StatefulSet,
  statefulClaims,
  statefulPod,
} from './identity.js'
import {
  type Action,
  type ClaimState,
  type Observed,
  planStatefulSet,
  statefulSetStatus,
} from './reconcile.js'
import { claimOwners, hasStrangeController, isLeftBehind } from './retention.js'

/** client-go's RetryOnConflict. */
const statusTries = 5

interface Sync {
  context: ControllerContext
  set: StatefulSet
  revisions: ControllerRevision[]
}

type Verb = 'Create' | 'Update' | 'Delete'

const tell = ({ context, set }: Sync, verb: Verb, message: string, error?: unknown): void => {
  const recorder = context.recorder('statefulset-controller')
  const text = `${verb} ${message}`
  if (error === undefined) recorder.event(set, 'Normal', `Successful${verb}`, text)
  else recorder.event(set, 'Warning', `Failed${verb}`, `${text} failed error: ${messageOf(error)}`)
}
const tellOfPod = (sync: Sync, verb: Verb, name: string | undefined, error?: unknown): void => {
  const text = `Pod ${name} in StatefulSet ${sync.set.metadata.name}`
  tell(sync, verb, error === undefined ? `${text} successful` : text, error)
}
/** Upstream's wording differs from that of Pods. */
const tellOfClaim = (sync: Sync, claim: string, pod: string, error?: unknown): void => {
  const where = `Pod ${pod} in StatefulSet ${sync.set.metadata.name}`
  if (error === undefined) tell(sync, 'Create', `Claim ${claim} ${where} success`)
  else tell(sync, 'Create', `Claim ${claim} for ${where}`, error)
}

const tellOfStranger = ({ context, set }: Sync, { metadata }: PersistedObject): void =>
  context
    .recorder('statefulset-controller')
    .event(
      set,
      'Warning',
      'ConflictingController',
      `PersistentVolumeClaim ${metadata.name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`,
    )

const createPod = async (
  sync: Sync,
  { ordinal, revision }: Extract<Action, { do: 'create' }>,
): Promise<void> => {
  const { context, set, revisions } = sync
  const known = revisions.find((r) => r.metadata.name === revision)
  const template = known === undefined ? set.spec.template : templateOf(known)
  const pod = statefulPod(set, ordinal, { template, revision })
  let created: Pod
  try {
    created = await context.client.create<Pod>(resources.pods, { ...pod })
    context.informers.for<Pod>(resources.pods).observe(created)
  } catch (error) {
    // The name is still taken: by the one that is ending, or by a stranger. Never two of one name.
    if (isAlreadyExists(error) || isNamespaceTerminating(error)) throw error
    // Its claims are there, and may have to go with the set.
    await ownClaims(
      sync,
      { metadata: { name: podName(set, ordinal), uid: '' } },
      { isPending: true },
    )
    tellOfPod(sync, 'Create', pod.metadata.name, error)
    throw error
  }
  await ownClaims(sync, created, { isPending: true })
  tellOfPod(sync, 'Create', pod.metadata.name)
}

const createClaims = async (sync: Sync, ordinal: number): Promise<void> => {
  const { context, set } = sync
  const informer = context.informers.for(resources.persistentVolumeClaims)
  for (const wanted of statefulClaims(set, ordinal)) {
    const name = wanted.metadata.name
    const known = informer.store.get(`${set.metadata.namespace}/${name}`)
    const pod = podName(set, ordinal)
    if (known?.metadata.deletionTimestamp !== undefined) {
      const error = new Error(`pvc ${name} is being deleted`)
      tellOfPod(sync, 'Create', pod, error)
      throw error
    }
    if (known !== undefined) continue
    try {
      informer.observe(await context.client.create(resources.persistentVolumeClaims, wanted))
      tellOfClaim(sync, name, pod)
    } catch (error) {
      if (isAlreadyExists(error)) continue
      tellOfClaim(sync, name, pod, error)
      throw error
    }
  }
}

const claimsOf = ({ context, set }: Sync, pod: Owner): PersistedObject[] => {
  const { store } = context.informers.for(resources.persistentVolumeClaims)
  return (set.spec.volumeClaimTemplates ?? [])
    .map((t) => store.get(`${set.metadata.namespace}/${claimName(set, t, ordinalOf(set, pod))}`))
    .filter((claim) => claim !== undefined)
}

/** True when a claim of the Pod had to change hands. Then, or if the Pod does not run yet, it is told who else controls one. */
const ownClaims = async (
  sync: Sync,
  pod: Owner,
  { isPending = false }: { isPending?: boolean } = {},
): Promise<boolean> => {
  const { context, set } = sync
  const owning = { set, pod, inRange: isInRange(set, pod) }
  const claims = claimsOf(sync, pod).map((claim) => ({
    claim,
    ownerReferences: claimOwners(claim, owning),
  }))
  const changed = claims.some(({ ownerReferences }) => ownerReferences !== undefined)
  for (const { claim, ownerReferences } of claims) {
    if ((changed || isPending) && hasStrangeController(claim, owning)) tellOfStranger(sync, claim)
    if (ownerReferences === undefined) continue
    const metadata = { ...claim.metadata, ownerReferences }
    await updateObject(context, resources.persistentVolumeClaims, { ...claim, metadata })
  }
  return changed
}

/** Upstream's UpdateStatefulPod. */
const keepPod = async (sync: Sync, pod: Pod): Promise<void> => {
  const { context, set } = sync
  const isWhole = hasItsLabels(pod) && mountsItsClaims(set, pod)
  try {
    if (!mountsItsClaims(set, pod)) await createClaims(sync, ordinalOf(set, pod))
    const changed = await ownClaims(sync, pod)
    if (!isWhole) await updateObject(context, resources.pods, identified(set, pod))
    if (changed || !isWhole) tellOfPod(sync, 'Update', pod.metadata.name)
  } catch (error) {
    // Somebody wrote meanwhile: the next round sees what.
    if (!isConflict(error)) tellOfPod(sync, 'Update', pod.metadata.name, error)
    throw error
  }
}

const deletePod = async (sync: Sync, { pod }: Extract<Action, { do: 'delete' }>): Promise<void> => {
  const { context } = sync
  const { name } = pod.metadata
  try {
    if (await deleteObject(context, resources.pods, pod)) tellOfPod(sync, 'Delete', name)
  } catch (error) {
    tellOfPod(sync, 'Delete', name, error)
    throw error
  }
}

const perform = async (sync: Sync, action: Action): Promise<void> => {
  if (action.do === 'create') await createPod(sync, action)
  else if (action.do === 'claims') await createClaims(sync, action.ordinal)
  else if (action.do === 'keep') await keepPod(sync, action.pod)
  else if (action.do === 'ownClaims')
    await ownClaims(sync, action.pod, { isPending: action.pod.status?.phase === 'Pending' })
  else await deletePod(sync, action)
}

const claimState = ({ context, set }: Sync) => {
  const pods = context.informers.for<Pod>(resources.pods).store
  const { store } = context.informers.for(resources.persistentVolumeClaims)
  return (ordinal: number): ClaimState => {
    const claims = (set.spec.volumeClaimTemplates ?? []).map((template) =>
      store.get(`${set.metadata.namespace}/${claimName(set, template, ordinal)}`),
    )
    const pod = pods.get(`${set.metadata.namespace}/${podName(set, ordinal)}`)
    for (const claim of claims) {
      if (
        claim !== undefined &&
        pod === undefined &&
        isLeftBehind(claim, set, podName(set, ordinal))
      )
        return 'stale'
    }
    if (claims.some((c) => c?.metadata.deletionTimestamp !== undefined)) return 'terminating'
    return claims.some((c) => c === undefined) ? 'missing' : 'ready'
  }
}

const isOfClaims = (action: Action): boolean => action.do === 'claims' || action.do === 'ownClaims'

/** Claims come before the Pod that mounts them, and are handed to the one that goes. */
const withTheirClaims = (actions: readonly Action[]): Action[][] => {
  const steps: Action[][] = [[]]
  for (const action of actions) {
    steps.at(-1)?.push(action)
    if (!isOfClaims(action)) steps.push([])
  }
  return steps
}

/** Pods of a parallel set are made at once, but not where the first is refused. Upstream: runForAll. */
const performAll = async (sync: Sync, actions: readonly Action[]): Promise<unknown> => {
  const steps = withTheirClaims(actions)
  const { error } = await slowStart(steps.length, async (index) => {
    for (const action of steps[index] ?? []) await perform(sync, action)
  })
  return error
}

/**
 * The status is kept though the set has changed meanwhile: it is where the set's first revision is noted, below which
 * no Pod under the partition may go.
 */
const writeStatus = async (
  context: ControllerContext,
  set: StatefulSet,
  status: StatefulSet['status'],
): Promise<void> => {
  let current = set
  for (let tries = statusTries; ; tries--) {
    try {
      await updateStatus(context, resources.statefulSets, current, status)
      return
    } catch (error) {
      if (!isConflict(error) || tries <= 1) throw error
    }
    const { namespace, name } = set.metadata
    const at = { namespace, name }
    current = await context.client.get<StatefulSet>(resources.statefulSets, at)
    if (current.metadata.uid !== set.metadata.uid) return
  }
}

const syncSet = async (
  context: ControllerContext,
  { history, queue }: { history: RevisionHistory; queue: WorkQueue },
  set: StatefulSet,
): Promise<void> => {
  const { clock } = context
  await claimOwned<Pod>(context, set, {
    ref: resources.statefulSets,
    owned: resources.pods,
    selector: set.spec.selector,
    isMember: (pod) => ordinalOf(set, pod) >= 0,
  })
  const isEnding = set.metadata.deletionTimestamp !== undefined
  const revisions = await history.list(set)
  // The garbage collector may have let go of the revisions, or ended them: a set that ends has the last one that it told of.
  const { revision, collisionCount } = isEnding
    ? { revision: undefined, collisionCount: set.status?.collisionCount }
    : await history.current(set, revisions)
  const older = revisions.filter((r) => r.metadata.uid !== revision?.metadata.uid)
  const all = revision === undefined ? older : [...older, revision]
  const sync: Sync = { context, set, revisions: all }
  const updateRevision = revision?.metadata.name ?? set.status?.updateRevision ?? ''
  const noted = set.status?.currentRevision
  // A revision that somebody has deleted is no template any more.
  const isThere = isEnding || all.some(({ metadata }) => metadata.name === noted)
  const currentRevision = (isThere && noted) || updateRevision
  const observe = (): Observed => ({
    set,
    pods: ownedBy<Pod>(context, set.metadata, resources.pods),
    currentRevision,
    updateRevision,
    claims: claimState(sync),
    now: clock.now(),
  })
  const failed = await performAll(sync, planStatefulSet(observe()))
  const after = observe()
  const status = statefulSetStatus(after, collisionCount)
  if (!jsonEqual({ collisionCount: 0, ...set.status }, status))
    await writeStatus(context, set, status)
  lookWhenAvailable(queue, set, after.pods, after.now)
  if (failed !== undefined) throw failed
  const used = new Set([updateRevision, after.currentRevision, ...after.pods.map(revisionOf)])
  const idle = all.filter((r) => !used.has(r.metadata.name))
  if (!isEnding) await history.truncate(set, idle, idle.length)
}

export const statefulSetController = ownerController<StatefulSet>({
  name: 'statefulset-controller',
  ref: resources.statefulSets,
  owned: resources.pods,
  queue: 'statefulset',
  selectorOf: (set) => set.spec.selector,
  prepare(context, sets, queue) {
    const history = new RevisionHistory(
      context,
      resources.statefulSets,
      'controller.kubernetes.io/hash',
    )
    // A claim that went away frees its ordinal.
    context.informers.for<NamespacedObject>(resources.persistentVolumeClaims).handle({
      onDelete(gone) {
        for (const set of sets.store.byIndex('namespace', gone.metadata.namespace))
          if ((set.spec.volumeClaimTemplates ?? []).length > 0) queue.add(keyOf(set))
      },
    })
    return (set) => syncSet(context, { history, queue }, set)
  },
})
