/**
 * Decides on one Pod after the other, and binds a Pod while it decides on the next. All its state comes from the watch,
 * so that it may be killed at any moment: a Pod is either bound or still waiting.
 */
import type { Clock } from '#api/clock.js'
import { formatTime } from '#api/clock.js'
import { conditionOf, sinceWhen } from '#api/conditions.js'
import type { Client } from '#client/client.js'
import { isNotFound, messageOf } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { Informer } from '#client/informer.js'
import type { InformerFactory } from '#client/informer-factory.js'
import type { Log } from '#client/log.js'
import { keyOf } from '#client/object-store.js'
import { conditionPatch, isPodTerminal, type Node, type Pod } from '#client/pod.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { ClusterState, type ClusterView } from './cluster-state.js'
import { decide } from './decide.js'
import { type DeviceFindings, DynamicResources } from './devices/dynamic-resources.js'
import { PendingPods } from './pending-pods.js'
import { findPreemption, type Preemption, preemptionReason } from './preemption.js'
import type { Budget } from './victims.js'
import { VolumeBinding } from './volume-binding.js'
import type { ClaimFindings } from './volume-claims.js'

interface SchedulerDeps {
  client: Client
  informers: InformerFactory
  recorder: EventRecorder
  clock: Clock
  log: Log
  /** Pods that name another scheduler are left alone. */
  schedulerName: string
}

export class Scheduler {
  readonly #deps: SchedulerDeps
  readonly #state: ClusterState
  readonly #pending: PendingPods
  readonly #volumes: VolumeBinding
  readonly #budgets: Informer<Budget>
  readonly #devices: DynamicResources
  /** Pods whose binding or preemption is under way. */
  readonly #busy = new Set<string>()
  /** Bound by us, not yet seen bound on the watch: key → uid. */
  readonly #assumed = new Map<string, string>()
  #idle: (() => void) | undefined

  constructor(deps: SchedulerDeps) {
    this.#deps = deps
    const { informers } = deps
    this.#pending = new PendingPods(() => performance.now())
    this.#state = new ClusterState(
      informers.for(resources.namespaces, { metadataOnly: true }).store,
    )
    const unpark = (): void => this.#pending.unparkAll()
    this.#volumes = new VolumeBinding(deps.client, informers, unpark)
    this.#budgets = informers.for<Budget>(resources.podDisruptionBudgets)
    this.#devices = new DynamicResources(deps, unpark)
    informers.for<Node>(resources.nodes).handle({
      onAdd: (node) => this.#nodeChanged(node),
      onUpdate: (node, previous) => {
        if (isWorthATry(node, previous)) this.#nodeChanged(node)
        else this.#state.setNode(node)
      },
      onDelete: (node) => this.#state.removeNode(node.metadata.name),
    })
    informers.for<Pod>(resources.pods).handle({
      onAdd: (pod) => this.#podChanged(pod),
      onUpdate: (pod) => this.#podChanged(pod),
      onDelete: (pod) => this.#podGone(keyOf(pod)),
    })
  }

  /** Runs until the signal fires and all work under way is done. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const pod = await this.#pending.next(this.#busy, signal)
      if (pod === undefined) break
      this.#schedule(pod)
      if (this.#busy.size >= limits.bindingsMax) await this.#someIdle()
    }
    while (this.#busy.size > 0) await this.#someIdle()
  }

  #someIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle = resolve
    })
  }

  #nodeChanged(node: Node): void {
    this.#state.setNode(node)
    this.#pending.unparkAll()
  }

  #podGone(key: string): void {
    this.#assumed.delete(key)
    this.#pending.remove(key)
    this.#state.removePod(key)
    this.#state.forgetNomination(key)
    this.#pending.unparkAll()
  }

  #podChanged(pod: Pod): void {
    const key = keyOf(pod)
    if (isPodTerminal(pod)) this.#podGone(key)
    else if (pod.spec.nodeName) {
      this.#assumed.delete(key)
      this.#pending.remove(key)
      this.#state.setPod(pod, pod.spec.nodeName)
    } else if (this.#assumed.get(key) !== pod.metadata.uid) this.#podWaits(pod, key)
  }

  #podWaits(pod: Pod, key: string): void {
    const mine = (pod.spec.schedulerName ?? 'default-scheduler') === this.#deps.schedulerName
    const gated = (pod.spec.schedulingGates ?? []).length > 0
    if (mine && !gated) this.#state.nominate(pod)
    if (!mine || gated || pod.metadata.deletionTimestamp !== undefined) this.#pending.remove(key)
    else if (!this.#busy.has(key)) this.#pending.put(pod)
  }

  #schedule(pod: Pod): void {
    // Not an attempt yet: its claims have not been made. Upstream: DynamicResources.PreEnqueue.
    if (this.#devices.awaitsClaim(pod)) {
      this.#pending.waits(pod)
      return
    }
    const claims = this.#volumes.inspect(pod)
    const devices = this.#devices.inspect(pod)
    const cluster = this.#state.viewFor(pod)
    const view: ClusterView = {
      ...cluster,
      claimProblem: claims.problem ?? devices.problem,
      volumeFilter: this.#volumes.filter(pod, claims, cluster.nodes),
      deviceFilter: devices.filter,
    }
    const decision = decide(pod, view)
    if (decision.node === undefined) {
      this.#pending.failed(pod, { park: true })
      const idle = this.#devices.idleClaim(devices, pod)
      const found = findPreemption(pod, decision, view, this.#budgets.store.list())
      const message = decision.message
      const told =
        found.node === undefined
          ? this.#reportFailure(
              pod,
              message + remedies(found.message, devices, idle),
              found.keepsNomination,
            )
          : this.#preempt(pod, found, message)
      const freed = idle && this.#devices.deallocate(idle)
      this.#own(
        pod,
        Promise.all([told, freed]).then(() => {}),
      )
    } else if (claims.waiting.length > 0) {
      // Its volumes are being made for this node; when they are bound the Pod is tried again.
      this.#pending.waits(pod)
      this.#own(pod, this.#bindVolumes(pod, claims, decision.node))
    } else {
      this.#state.setPod(pod, decision.node)
      this.#devices.reserve(devices, decision.node)
      this.#own(pod, this.#bind(pod, decision.node, devices))
    }
  }

  /**
   * Runs work for a Pod beside the loop. The Pod is busy until it ends, and a failure is retried without a change in the
   * cluster.
   */
  #own(pod: Pod, work: Promise<void>): void {
    const key = keyOf(pod)
    this.#busy.add(key)
    work
      .catch((error) => {
        this.#pending.failed(pod, { park: false })
        this.#deps.log.info({ pod: key, error: messageOf(error) }, 'will retry')
      })
      .finally(() => {
        this.#busy.delete(key)
        const now = this.#deps.informers.for<Pod>(resources.pods).store.get(key)
        if (now !== undefined) this.#podChanged(now)
        this.#idle?.()
      })
  }

  /** The nomination is written first, because binding volumes may take long. */
  async #bindVolumes(pod: Pod, claims: ClaimFindings, node: string): Promise<void> {
    if (pod.status?.nominatedNodeName !== node)
      await this.#patchStatus(pod, { nominatedNodeName: node })
    await this.#volumes.bind(claims, this.#state.info(node)!)
  }

  async #bind(pod: Pod, node: string, devices: DeviceFindings): Promise<void> {
    const { client, recorder } = this.#deps
    const { name, namespace, uid } = pod.metadata
    try {
      await this.#devices.bind(devices, pod)
      await client.create(
        resources.pods,
        {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name, namespace, uid },
          target: { kind: 'Node', name: node },
        },
        { name, subresource: 'binding' },
      )
      const seen = this.#deps.informers.for<Pod>(resources.pods).store.get(keyOf(pod))
      if (seen?.spec.nodeName === undefined) this.#assumed.set(keyOf(pod), uid)
      this.#pending.remove(keyOf(pod))
      recorder.event(
        pod,
        'Normal',
        'Scheduled',
        `Successfully assigned ${namespace}/${name} to ${node}`,
        { action: 'Binding' },
      )
    } catch (error) {
      this.#state.removePod(keyOf(pod))
      await this.#devices.release(devices, pod)
      if (isNotFound(error)) return this.#pending.failed(pod, { park: false })
      const message = `binding rejected: ${messageOf(error)}`
      recorder.event(pod, 'Warning', 'FailedScheduling', message, { action: 'Scheduling' })
      throw error
    }
  }

  async #reportFailure(pod: Pod, message: string, keepsNomination: boolean): Promise<void> {
    this.#deps.recorder.event(pod, 'Warning', 'FailedScheduling', message, {
      action: 'Scheduling',
    })
    const known = conditionOf(pod, 'PodScheduled')
    const isKnown =
      known?.status === 'False' && known.reason === 'Unschedulable' && known.message === message
    const gaveUp = Boolean(pod.status?.nominatedNodeName) && !keepsNomination
    if (isKnown && !gaveUp) return
    await this.#patchStatus(pod, {
      ...this.#condition(pod, 'PodScheduled', 'False', 'Unschedulable', message),
      ...(gaveUp ? { nominatedNodeName: null } : {}),
    })
  }

  async #preempt(pod: Pod, { node, victims }: Preemption, message: string): Promise<void> {
    // The nomination goes first: killed after it, the next run sees the room as taken and asks again.
    await this.#patchStatus(pod, {
      nominatedNodeName: node,
      ...this.#condition(pod, 'PodScheduled', 'False', 'Unschedulable', message),
    })
    this.#deps.recorder.event(pod, 'Warning', 'FailedScheduling', message, {
      action: 'Scheduling',
    })
    for (const victim of victims) await this.#evict(victim, pod, node)
  }

  async #evict(victim: Pod, pod: Pod, node: string): Promise<void> {
    const { client, recorder, schedulerName } = this.#deps
    if (victim.metadata.deletionTimestamp !== undefined) return
    const message = `${schedulerName}: preempting to accommodate a higher priority pod`
    try {
      await this.#patchStatus(
        victim,
        this.#condition(victim, 'DisruptionTarget', 'True', preemptionReason, message),
      )
      await client.delete(
        resources.pods,
        { namespace: victim.metadata.namespace, name: victim.metadata.name },
        { preconditions: { uid: victim.metadata.uid } },
      )
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    recorder.event(
      victim,
      'Normal',
      'Preempted',
      `Preempted by pod ${pod.metadata.uid} on node ${node}`,
      { action: 'Preempting' },
    )
  }

  #condition(pod: Pod, type: string, status: string, reason: string, message: string) {
    const known = conditionOf(pod, type)
    return conditionPatch(pod, {
      type,
      status,
      reason,
      message,
      ...(pod.metadata.generation ? { observedGeneration: pod.metadata.generation } : {}),
      lastProbeTime: null,
      lastTransitionTime: sinceWhen(known, status, formatTime(this.#deps.clock.now())),
    })
  }

  async #patchStatus(pod: Pod, status: object): Promise<void> {
    const { namespace, name, uid } = pod.metadata
    try {
      await this.#deps.client.patch(
        resources.pods,
        { namespace, name },
        { metadata: { uid }, status },
        { type: 'strategic', subresource: 'status' },
      )
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** What the two plugins that look for a remedy say (upstream's PostFilter); nothing if they were not asked. */
const remedies = (
  preemption: string,
  { claims }: DeviceFindings,
  idle: ResourceClaim | undefined,
): string => {
  if (preemption === '') return ''
  const unhelped = claims.length > 0 ? 'still not schedulable' : 'no new claims to deallocate'
  const deallocation = idle === undefined ? unhelped : 'deallocation of ResourceClaim completed'
  return ` ${deallocation}, ${preemption}`
}

/** Heartbeats change a node every few seconds; only these parts decide where Pods fit. */
const isWorthATry = (node: Node, previous: Node): boolean =>
  JSON.stringify([node.spec, node.metadata.labels, node.status.allocatable]) !==
  JSON.stringify([previous.spec, previous.metadata.labels, previous.status.allocatable])
