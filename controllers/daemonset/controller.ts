/** One Pod on every node that qualifies; upstream's daemonset-controller. */
import { matchesSelector } from '#api/label-selector.js'
import { keyOf } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { WorkQueue } from '#client/work-queue.js'
import { jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import { type ControllerContext, enqueueOwner } from '../controller.js'
import { claimOwned, ownedBy, ownerController } from '../ownership/owner-controller.js'
import { lookWhenAvailable } from '../pods/availability.js'
import { inParallel, PodControl, podFromTemplate, slowStart } from '../pods/pod-control.js'
import {
  type ControllerRevision,
  RevisionHistory,
  revisionLabel,
  revisionOf,
} from '../pods/revisions.js'
import { updateStatus } from '../update-object.js'
import { FailedPods } from './failed-pods.js'
import {
  type DaemonSet,
  daemonStatus,
  generationLabels,
  type Observed,
  pinnedTo,
  planDaemons,
  wantsNode,
  withDaemonTolerations,
} from './reconcile.js'
import { planUpdate } from './update.js'

const newPod = (set: DaemonSet, node: string, hash: string) => {
  const pod = podFromTemplate(set.spec.template, resources.daemonSets, set)
  const labels = { ...pod.metadata.labels, ...generationLabels(set), [revisionLabel]: hash }
  return pinnedTo(withDaemonTolerations({ ...pod, metadata: { ...pod.metadata, labels } }), node)
}

interface Tools {
  control: PodControl
  failedPods: FailedPods
  queue: WorkQueue
}

/** Makes and ends Pods as planned. Yields how long an ended Pod still has to wait for its successor. */
const act = async (
  observed: Observed,
  { control, failedPods }: Tools,
): Promise<number | undefined> => {
  const { set, hash, now } = observed
  const plan = planDaemons(observed)
  let waitMs: number | undefined
  for (const pod of plan.ended) {
    const wait = hasFailed(pod) ? failedPods.admit(set, pod, now) : 0
    if (wait > 0) waitMs = Math.min(waitMs ?? wait, wait)
    else {
      tellOfEnded(set, pod, control)
      plan.delete.push(pod)
    }
  }
  const settled = plan.create.length === 0 && plan.delete.length === 0
  const next = settled ? planUpdate(observed) : plan
  // What fails on one node keeps no other from its Pod, nor from losing it.
  const { error } = await slowStart(Math.min(next.create.length, limits.daemonBurstMax), (i) =>
    control.create(newPod(set, next.create[i]!, hash), set),
  )
  await inParallel(next.delete.slice(0, limits.daemonBurstMax), (pod) => control.delete(pod, set))
  if (error !== undefined) throw error
  return waitMs
}

const hasFailed = (pod: Pod): boolean => pod.status?.phase === 'Failed'
const tellOfEnded = (set: DaemonSet, pod: Pod, control: PodControl): void => {
  const where = `daemon pod ${keyOf(pod)} on node ${pod.spec.nodeName}`
  if (hasFailed(pod))
    control.recorder.event(
      set,
      'Warning',
      'FailedDaemonPod',
      `Found failed ${where}, will try to kill it`,
    )
  else
    control.recorder.event(
      set,
      'Normal',
      'SucceededDaemonPod',
      `Found succeeded ${where}, will try to delete it`,
    )
}

const sync = async (
  context: ControllerContext,
  history: RevisionHistory,
  tools: Tools,
  set: DaemonSet,
): Promise<void> => {
  // A deleted set is not synced at all, not even its status. Upstream: syncDaemonSet.
  if (set.metadata.deletionTimestamp !== undefined) return
  const { informers, clock } = context
  await claimOwned(context, set, {
    ref: resources.daemonSets,
    owned: resources.pods,
    selector: set.spec.selector,
  })
  const revisions = await history.list(set)
  const { revision, collisionCount } = await history.current(set, revisions)
  const hash = revisionOf(revision)
  const observe = (): Observed => ({
    set,
    hash,
    nodes: informers.for<Node>(resources.nodes).store.list(),
    pods: ownedBy<Pod>(context, set.metadata, resources.pods),
    now: clock.now(),
  })
  let failed: unknown
  let waitMs: number | undefined
  try {
    waitMs = await act(observe(), tools)
  } catch (error) {
    failed = error
  }
  const after = observe()
  const status = daemonStatus(after, collisionCount)
  if (status !== undefined) await updateStatus(context, resources.daemonSets, set, status)
  lookWhenAvailable(tools.queue, set, after.pods, after.now)
  if (waitMs !== undefined) tools.queue.addAfter(keyOf(set), waitMs)
  if (failed !== undefined) throw failed
  const used = new Set([hash, ...after.pods.map(revisionOf)])
  const old = revisions.filter((r) => r.metadata.uid !== revision.metadata.uid)
  const isIdle = (r: ControllerRevision) => !used.has(revisionOf(r))
  // Upstream also counts old revisions that still have Pods; for StatefulSets it does not.
  await history.truncate(set, old.filter(isIdle), old.length)
}

/** Heartbeats do not move daemons. */
const nodeSignature = (node: Node): string =>
  JSON.stringify([node.metadata.labels, node.spec.taints, node.spec.unschedulable])

export const daemonSetController = ownerController<DaemonSet>({
  name: 'daemonset-controller',
  serviceAccount: 'daemon-set-controller',
  ref: resources.daemonSets,
  owned: resources.pods,
  queue: 'daemonset',
  selectorOf: (set) => set.spec.selector,
  prepare(context, sets, queue) {
    const history = new RevisionHistory(context, resources.daemonSets, revisionLabel)
    const control = new PodControl(context, 'daemonset-controller')
    const tools = { control, failedPods: new FailedPods(), queue }
    const those = (areConcerned: (set: DaemonSet) => boolean): void => {
      for (const set of sets.store.list()) if (areConcerned(set)) queue.add(keyOf(set))
    }
    // One that somebody deletes is made anew; one without a controller is adopted.
    const revisions = context.informers.for<ControllerRevision>(resources.controllerRevisions)
    enqueueOwner(revisions, resources.daemonSets, queue, ({ metadata: { namespace, labels } }) =>
      those(
        ({ metadata, spec }) =>
          metadata.namespace === namespace && matchesSelector(spec.selector, labels),
      ),
    )
    context.informers.for<Node>(resources.nodes).handle({
      onAdd: (node) => those((set) => wantsNode(set, node).shouldRun),
      onDelete: () => those(() => true),
      onUpdate(next, previous) {
        if (nodeSignature(next) === nodeSignature(previous)) return
        those((set) => !jsonEqual(wantsNode(set, next), wantsNode(set, previous)))
      },
    })
    return (set) => sync(context, history, tools, set)
  },
})
