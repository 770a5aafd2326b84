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
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { ClusterState, type ClusterView } from './cluster-state.js'
import { type Decision, decide } from './decide.js'
import { type DeviceFindings, DynamicResources } from './devices/dynamic-resources.js'
import { FilterFailure } from './filter.js'
import { PendingPods } from './pending-pods.js'
import { findPreemption, type Preemption, preemptionReason, type Refusing } from './preemption.js'
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

interface Failure {
  reason: string
  message: string
  keepsNomination: boolean
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
  /** How many of them wait for drivers, which may take minutes. */
  #waiting = 0
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
      this.#schedule(pod, signal)
      while (this.#busy.size - this.#waiting >= limits.bindingsMax) await this.#someIdle()
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

  #schedule(pod: Pod, signal: AbortSignal): void {
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
      isDevice: (resource) => this.#devices.classFor(resource) !== undefined,
    }
    let decision: Decision
    try {
      decision = decide(pod, view)
    } catch (error) {
      if (!(error instanceof FilterFailure)) throw error
      this.#own(pod, this.#fail(pod, error))
      return
    }
    if (decision.node === undefined) this.#fitsNowhere(pod, { decision, view, devices })
    else if (claims.waiting.length > 0) {
      // Its volumes are being made for this node; when they are bound the Pod is tried again.
      this.#pending.waits(pod)
      this.#own(pod, this.#bindVolumes(pod, claims, decision.node))
    } else {
      this.#state.setPod(pod, decision.node)
      this.#devices.reserve(devices, decision.node)
      this.#own(pod, this.#bind(pod, decision.node, devices, signal))
    }
  }

  /** Tells of it, and does what may help the next time. */
  #fitsNowhere(
    pod: Pod,
    { decision, view, devices }: { decision: Refusing; view: ClusterView; devices: DeviceFindings },
  ): void {
    this.#pending.failed(pod, { park: true })
    const found = findPreemption(pod, decision, view, this.#budgets.store.list())
    // Plugins that look for a remedy (upstream's PostFilter) are asked only if nodes were looked at.
    const remedy = decision.refused.length > 0 ? this.#devices.remedy(devices, pod) : undefined
    const { message } = decision
    const told =
      found.node === undefined
        ? this.#reportFailure(pod, {
            reason: 'Unschedulable',
            message: remedy ? `${message} ${remedy.message}, ${found.message}` : message,
            keepsNomination: found.keepsNomination,
          })
        : this.#preempt(pod, found, message)
    this.#own(
      pod,
      Promise.all([told, remedy?.act?.()]).then(() => {}),
    )
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

  async #bind(pod: Pod, node: string, devices: DeviceFindings, signal: AbortSignal): Promise<void> {
    const { recorder } = this.#deps
    const { name, namespace, uid } = pod.metadata
    try {
      await failsAs('running PreBind plugin "DynamicResources"', () =>
        this.#prepareDevices(pod, node, devices, signal),
      )
      // Claims stay as they are: whoever schedules next waits for their devices, too.
      if (signal.aborted) return
      await failsAs('binding rejected', () => this.#createBinding(pod, node))
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
      await this.#devices.release(devices, pod, node)
      const { cause } = error as Error
      if (isNotFound(cause)) return this.#pending.failed(pod, { park: false })
      await this.#fail(pod, error as Error)
    }
  }

  #createBinding({ metadata: { name, namespace, uid } }: Pod, node: string): Promise<unknown> {
    return this.#deps.client.create(
      resources.pods,
      {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, uid },
        target: { kind: 'Node', name: node },
      },
      { name, subresource: 'binding' },
    )
  }

  /** Writes the claims of the Pod, and waits until drivers have prepared their devices. */
  async #prepareDevices(
    pod: Pod,
    node: string,
    devices: DeviceFindings,
    signal: AbortSignal,
  ): Promise<void> {
    const claims = await this.#devices.bind(devices, pod, node)
    if (!this.#devices.haveToBeReady(claims)) return
    const message = `waiting for binding conditions for device on node ${node}`
    this.#deps.recorder.event(pod, 'Normal', 'BindingConditionsPending', message, {
      action: 'Scheduling',
    })
    this.#waiting++
    this.#idle?.()
    try {
      await this.#devices.untilReady(claims, pod, signal)
    } finally {
      this.#waiting--
    }
  }

  /** Something went wrong that is nobody's lack of room: the Pod is tried again soon. */
  async #fail(pod: Pod, error: Error): Promise<never> {
    await this.#reportFailure(pod, {
      reason: 'SchedulerError',
      message: error.message,
      keepsNomination: false,
    })
    throw error
  }

  async #reportFailure(pod: Pod, { reason, message, keepsNomination }: Failure): Promise<void> {
    this.#deps.recorder.event(pod, 'Warning', 'FailedScheduling', message, {
      action: 'Scheduling',
    })
    const known = conditionOf(pod, 'PodScheduled')
    const isKnown =
      known?.status === 'False' && known.reason === reason && known.message === message
    const gaveUp = Boolean(pod.status?.nominatedNodeName) && !keepsNomination
    if (isKnown && !gaveUp) return
    await this.#patchStatus(pod, {
      ...this.#condition(pod, 'PodScheduled', 'False', reason, message),
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

const failsAs = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act()
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
  }
}

/** Heartbeats change a node every few seconds; only these parts decide where Pods fit. */
const isWorthATry = (node: Node, previous: Node): boolean =>
  JSON.stringify([node.spec, node.metadata.labels, node.status.allocatable]) !==
  JSON.stringify([previous.spec, previous.metadata.labels, previous.status.allocatable])
