/** One Pod on every node that qualifies; upstream's daemonset-controller. */
import { keyOf } from '#client/object-store.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'
import { claimOwned, ownedBy, ownerController } from '../ownership/owner-controller.js'
import { nextAvailabilityMs } from '../pods/availability.js'
import { inParallel, PodControl, podFromTemplate, slowStart } from '../pods/pod-control.js'
import { type ControllerRevision, RevisionHistory, revisionLabel } from '../pods/revisions.js'
import {
  type DaemonSet,
  daemonStatus,
  type Observed,
  pinnedTo,
  planDaemons,
  planUpdate,
  withDaemonTolerations,
} from './reconcile.js'

const burstMax = 250

const newPod = (set: DaemonSet, node: string, hash: string) => {
  const pod = podFromTemplate(set.spec.template, resources.daemonSets, set)
  const labels = {
    ...pod.metadata.labels,
    [revisionLabel]: hash,
    'pod-template-generation':
      set.metadata.annotations?.['deprecated.daemonset.template.generation'] ?? '1',
  }
  return pinnedTo(withDaemonTolerations({ ...pod, metadata: { ...pod.metadata, labels } }), node)
}

const act = async (observed: Observed, control: PodControl): Promise<void> => {
  const { set, hash } = observed
  const plan = planDaemons(observed)
  for (const pod of plan.failed)
    control.recorder.event(
      set,
      'Warning',
      'FailedDaemonPod',
      `Found failed daemon pod ${keyOf(pod)} on node ${pod.spec.nodeName}, will try to kill it`,
    )
  const { error } = await slowStart(Math.min(plan.create.length, burstMax), (i) =>
    control.create(newPod(set, plan.create[i]!, hash), set),
  )
  const settled = plan.create.length === 0 && plan.delete.length === 0
  await inParallel(settled ? planUpdate(observed) : plan.delete.slice(0, burstMax), (pod) =>
    control.delete(pod, set),
  )
  if (error !== undefined) throw error
}

const sync = async (
  context: ControllerContext,
  history: RevisionHistory,
  control: PodControl,
  set: DaemonSet,
): Promise<{ afterMs: number } | undefined> => {
  const { client, informers, clock } = context
  await claimOwned(context, set, {
    ref: resources.daemonSets,
    owned: resources.pods,
    selector: set.spec.selector,
  })
  const revisions = await history.list(set)
  const { revision, collisionCount } = await history.current(set, revisions)
  const hash = revision.metadata.labels?.[revisionLabel] ?? ''
  const observe = (): Observed => ({
    set,
    hash,
    nodes: informers.for<Node>(resources.nodes).store.list(),
    pods: ownedBy<Pod>(context, set, resources.pods),
    now: clock.now(),
  })
  let failed: unknown
  try {
    await act(observe(), control)
  } catch (error) {
    failed = error
  }
  const after = observe()
  const status = daemonStatus(after, collisionCount)
  if (status !== undefined)
    informers
      .for<DaemonSet>(resources.daemonSets)
      .observe(
        await client.update(resources.daemonSets, { ...set, status }, { subresource: 'status' }),
      )
  if (failed !== undefined) throw failed
  const used = new Set([hash, ...after.pods.map((p) => p.metadata.labels?.[revisionLabel])])
  await history.truncate(set, [...revisions, revision], (r: ControllerRevision) =>
    used.has(r.metadata.labels?.[revisionLabel]),
  )
  const afterMs = nextAvailabilityMs(after.pods, set.spec.minReadySeconds ?? 0, after.now)
  return afterMs === undefined ? undefined : { afterMs }
}

/** Heartbeats do not move daemons. */
const nodeSignature = (node: Node): string =>
  JSON.stringify([node.metadata.labels, node.spec.taints, node.spec.unschedulable])

export const daemonSetController = ownerController<DaemonSet>({
  name: 'daemonset-controller',
  ref: resources.daemonSets,
  owned: resources.pods,
  selectorOf: (set) => set.spec.selector,
  prepare(context, sets, queue) {
    const history = new RevisionHistory(context, resources.daemonSets)
    const control = new PodControl(context, 'daemonset-controller')
    const all = (): void => {
      for (const key of sets.store.keys()) queue.add(key)
    }
    context.informers.for<Node>(resources.nodes).handle({
      onAdd: all,
      onDelete: all,
      onUpdate(next, previous) {
        if (nodeSignature(next) !== nodeSignature(previous)) all()
      },
    })
    return (set) => sync(context, history, control, set)
  },
})
