import { isNotFound, messageOf } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import type { Log } from '#client/log.js'
import { keyOf } from '#client/object-store.js'
import { isPodTerminal, isTerminating, type Node, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import type { MetricFamily } from '#metrics/metric-family.js'
import type { ChosenVolumes } from './bound-claims.js'
import { ClusterState, type ClusterView, type Service } from './cluster-state.js'
import type { Backoff } from './configuration/read-configuration.js'
import { decide, type Refusing } from './decide.js'
import { type DeviceFindings, DynamicResources } from './devices/dynamic-resources.js'
import { AskedExtenders } from './extenders/ask-extenders.js'
import type { Extender } from './extenders/extender.js'
import { failsAs } from './fails-as.js'
import { FilterFailure } from './filter.js'
import { NamedSchedulers, type NamedSchedulersDeps } from './named-schedulers.js'
import { PendingPods } from './pending-pods.js'
import { PreBind } from './pre-bind.js'
import { type FoundPreemption, findCandidates, noPreemption, preemptionOf } from './preemption.js'
import { type PendingCounts, SchedulingMetrics } from './scheduling-metrics.js'
import type { Budget } from './victims.js'
import { VolumeBinding } from './volume-binding.js'
import {
  type Concerns,
  countedWith,
  helpedBy,
  isNewNeighbour,
  leavesRoom,
  looksElsewhere,
  nobody,
  nodeMayFit,
  saysMore,
} from './waking-changes.js'

interface SchedulerDeps extends NamedSchedulersDeps {
  log: Log
  backoff: Backoff
  extenders: readonly Extender[]
}

export class Scheduler {
  readonly #deps: SchedulerDeps
  readonly #state: ClusterState
  readonly #pending: PendingPods
  readonly #volumes: VolumeBinding
  readonly #budgets: Informer<Budget>
  readonly #devices: DynamicResources
  readonly #schedulers: NamedSchedulers
  readonly #preBind: PreBind
  /** Pods whose binding or preemption is under way. */
  readonly #busy = new Set<string>()
  /** Bound by us, not yet seen bound on the watch: key → uid. */
  readonly #assumed = new Map<string, string>()
  readonly #metrics = new SchedulingMetrics(() => this.#pendingCounts())
  #idle: (() => void) | undefined

  constructor(deps: SchedulerDeps) {
    this.#deps = deps
    const { informers } = deps
    this.#schedulers = new NamedSchedulers(deps)
    this.#pending = new PendingPods(() => performance.now(), deps.backoff)
    this.#state = new ClusterState(
      informers.for(resources.namespaces, { metadataOnly: true }).store,
      informers.for<Service>(resources.services).store,
    )
    const unpark = (concerns: Concerns): void => this.#pending.unpark(concerns)
    this.#volumes = new VolumeBinding(deps, unpark)
    this.#budgets = informers.for<Budget>(resources.podDisruptionBudgets)
    this.#devices = new DynamicResources(deps, unpark)
    this.#preBind = new PreBind({
      state: this.#state,
      volumes: this.#volumes,
      devices: this.#devices,
      schedulers: this.#schedulers,
      isGone: (pod) => this.#seen(pod) === undefined,
      waits: () => this.#idle?.(),
    })
    informers.for<Node>(resources.nodes).handle({
      onAdd: (node) => this.#nodeChanged(node),
      onUpdate: (node, previous) => {
        if (nodeMayFit(node, previous)) return this.#nodeChanged(node)
        this.#state.setNode(node)
        if (saysMore(node, previous)) this.#pending.unpark(nobody)
      },
      onDelete: (node) => this.#nodeGone(node),
    })
    informers.for<Pod>(resources.pods).handle({
      onAdd: (pod) => {
        this.#podChanged(pod)
        this.#wakeOthers(pod, undefined)
      },
      onUpdate: (pod, previous) => {
        this.#podChanged(pod)
        this.#wakeOthers(pod, previous)
      },
      onDelete: (pod) => {
        this.#preBind.podGone(pod)
        this.#podGone(keyOf(pod))
      },
    })
  }

  get metrics(): readonly MetricFamily[] {
    return this.#metrics.families
  }

  #pendingCounts(): PendingCounts {
    const waits = (pod: Pod): boolean => !pod.spec.nodeName && !isPodTerminal(pod)
    const gated = this.#deps.informers
      .for<Pod>(resources.pods)
      .store.list()
      .filter((pod) => isGated(pod) && waits(pod) && this.#schedulers.own(pod))
    return { ...this.#pending.counts(), gated: gated.length }
  }

  /** As the watch has shown it; undefined: it is there no more, though another one of its name may be. */
  #seen({ metadata }: Pod): Pod | undefined {
    const { store } = this.#deps.informers.for<Pod>(resources.pods)
    const pod = store.get(`${metadata.namespace}/${metadata.name}`)
    return pod?.metadata.uid === metadata.uid ? pod : undefined
  }

  /** Runs until the signal fires and all work under way is done. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const pod = await this.#pending.next(this.#busy, signal)
      if (pod === undefined) break
      await this.#schedule(pod, signal)
      while (this.#busy.size - this.#preBind.waiting >= limits.bindingsMax) await this.#someIdle()
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

  #nodeGone({ metadata }: Node): void {
    this.#state.removeNode(metadata.name)
    // The others may lie more evenly without it.
    this.#pending.unpark(looksElsewhere)
  }

  #podGone(key: string): void {
    this.#assumed.delete(key)
    this.#pending.remove(key)
    const nominated = this.#state.forgetNomination(key)
    if (this.#state.removePod(key)) this.#pending.roomLeft()
    else if (nominated !== undefined) this.#pending.roomLeft(countedWith(nominated))
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

  #wakeOthers(pod: Pod, previous: Pod | undefined): void {
    if (isPodTerminal(pod)) return
    if (pod.spec.nodeName) {
      if (previous?.spec.nodeName && leavesRoom(pod, previous)) this.#pending.roomLeft()
      const isNew = isNewNeighbour(pod, previous)
      this.#pending.unpark(isNew ? helpedBy(pod, previous, this.#state) : nobody)
      return
    }
    const room = previous?.status?.nominatedNodeName
    if (room && room !== pod.status?.nominatedNodeName) this.#pending.roomLeft(countedWith(pod))
  }

  #podWaits(pod: Pod, key: string): void {
    const mine = this.#schedulers.own(pod)
    if (!mine || isGated(pod)) this.#pending.remove(key)
    else if (!this.#busy.has(key)) {
      this.#state.nominate(pod, pod.status?.nominatedNodeName)
      this.#pending.put(pod)
    }
  }

  /** A Pod about which nothing can be decided is told so, and keeps no other from its node. */
  async #schedule(pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.#decide(pod, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof FilterFailure))
        this.#deps.log.error({ err: error, pod: keyOf(pod) }, 'cannot decide')
      this.#attend(pod, this.#fail(pod, error as Error))
    }
  }

  /** Nothing else happens meanwhile, unless extenders have to be asked. */
  async #decide(pod: Pod, signal: AbortSignal): Promise<void> {
    if (isTerminating(pod)) {
      this.#pending.remove(keyOf(pod))
      this.#schedulers.of(pod).writer.tellSkipped(pod)
      return
    }
    // Not an attempt yet: its claims have not been made. Upstream: DynamicResources.PreEnqueue.
    if (this.#devices.awaitsClaim(pod)) {
      this.#pending.waits(pod)
      return
    }
    this.#pending.begin(pod)
    const { profile } = this.#schedulers.of(pod)
    const claims = this.#volumes.inspect(pod)
    const devices = this.#devices.inspect(pod, profile.deviceTimeoutMs)
    const extenders = this.#extendersFor(pod)
    const cluster = this.#state.viewFor(pod, { isKept: extenders !== undefined })
    const view: ClusterView = {
      ...cluster,
      volumeProblem: claims.problem,
      deviceProblem: devices.problem,
      volumeFilter: this.#volumes.filter(pod, claims, cluster.nodes),
      deviceFilter: devices.filter,
      isDevice: (resource) => this.#devices.classFor(resource) !== undefined,
      devicesOn: this.#devices.totals(),
    }
    const attempt = { view, signal }
    const decision =
      extenders === undefined
        ? decide(pod, view, profile)
        : await extenders.decide(pod, profile, attempt)
    if (decision.node === undefined) {
      const found = await this.#roomFor(pod, decision, attempt)
      this.#fitsNowhere(pod, { decision, found, devices })
    } else {
      const { node } = view.nodes.find((info) => info.node!.metadata.name === decision.node)!
      const chosen = this.#volumes.reserve(claims, node!)
      this.#state.setPod(pod, decision.node)
      this.#devices.reserve(devices, decision.node)
      this.#attend(pod, this.#bind(pod, decision.node, { chosen, devices }, signal))
    }
  }

  /** Undefined: the Pod is nothing to any of them. */
  #extendersFor(pod: Pod): AskedExtenders | undefined {
    const interested = this.#deps.extenders.filter((extender) => extender.isInterestedIn(pod))
    return interested.length === 0 ? undefined : new AskedExtenders(interested, this.#deps.log)
  }

  /** Who has to leave for the Pod, if that helps. */
  async #roomFor(
    pod: Pod,
    decision: Refusing,
    attempt: { view: ClusterView; signal: AbortSignal },
  ): Promise<FoundPreemption> {
    if (!this.#schedulers.of(pod).profile.preempts) return noPreemption
    const found = findCandidates(pod, decision, attempt.view, this.#budgets.store.list())
    if (!Array.isArray(found)) return found
    return (await this.#extendersFor(pod)?.preempt(pod, found, attempt)) ?? preemptionOf(found)
  }

  /** Tells of it, and does what may help the next time. */
  #fitsNowhere(
    pod: Pod,
    {
      decision,
      found,
      devices,
    }: { decision: Refusing; found: FoundPreemption; devices: DeviceFindings },
  ): void {
    this.#pending.failed(pod, {
      park: true,
      isWokenByAny: decision.isWokenByAny ?? false,
      needsRoom: decision.refused.some(({ refusal }) => !refusal.hopeless),
    })
    const { profile, writer } = this.#schedulers.of(pod)
    this.#metrics.attempted(profile.schedulerName, 'unschedulable')
    // Plugins that look for a remedy (upstream's PostFilter) are asked only if nodes were looked at.
    const remedy = decision.refused.length > 0 ? this.#devices.remedy(devices, pod) : undefined
    const { message } = decision
    // Whoever is decided about next has to know, and the write takes its time. Upstream: AddNominatedPod.
    if (found.node !== undefined) this.#state.nominate(pod, found.node)
    else if (!found.keepsNomination) this.#state.forgetNomination(keyOf(pod))
    const told =
      found.node === undefined
        ? writer.reportFailure(pod, {
            reason: 'Unschedulable',
            message: remedy
              ? `${message} ${[found.isFailure ? '' : remedy.message, found.message].filter(Boolean).join(', ')}`
              : message,
            keepsNomination: found.keepsNomination,
          })
        : writer.preempt(pod, found, {
            message,
            givesUp: (other) => this.#preBind.givesUp(other),
            displaced: this.#state.nominatedBelow(pod, found.node),
          })
    this.#attend(
      pod,
      Promise.all([told, remedy?.act?.()]).then(() => {}),
    )
  }

  /**
   * Runs work for a Pod beside the loop. The Pod is busy until it ends, and a failure is retried without a change in the
   * cluster.
   */
  #attend(pod: Pod, work: Promise<void>): void {
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
        // What was found out about it came too late for it to be forgotten.
        else this.#podGone(key)
        this.#idle?.()
      })
  }

  async #bind(
    waiting: Pod,
    node: string,
    { chosen, devices }: { chosen: ChosenVolumes; devices: DeviceFindings },
    signal: AbortSignal,
  ): Promise<void> {
    let pod = waiting
    try {
      if (chosen.size > 0 || devices.filter !== undefined)
        pod = await this.#schedulers.of(waiting).writer.nominate(waiting, node)
      // Claims stay as they are: whoever schedules next waits for their devices, too.
      if (!(await this.#preBind.run(pod, node, { chosen, devices }, signal))) return
      const { profile, writer } = this.#schedulers.of(pod)
      if (!(await this.#extendersFor(pod)?.bind(pod, node)))
        await failsAs('running Bind plugin "DefaultBinder"', () => writer.bind(pod, node))
      writer.tellBound(pod, node)
      this.#metrics.attempted(profile.schedulerName, 'scheduled')
      if (this.#seen(pod)?.spec.nodeName === undefined)
        this.#assumed.set(keyOf(pod), pod.metadata.uid)
      this.#pending.remove(keyOf(pod))
    } catch (error) {
      this.#state.removePod(keyOf(pod))
      this.#volumes.release(chosen)
      const released = this.#devices.release(devices, pod, node)
      // Others were refused for what it would have taken (upstream: handleBindingCycleError).
      this.#pending.unparkAll()
      await released
      const { cause } = error as Error
      if (isNotFound(cause)) return this.#pending.failed(pod, { park: false })
      await this.#fail(pod, error as Error)
    }
  }

  /** Something went wrong that is nobody's lack of room: the Pod is tried again soon. */
  async #fail(pod: Pod, error: Error): Promise<never> {
    const { profile, writer } = this.#schedulers.of(pod)
    this.#metrics.attempted(profile.schedulerName, 'error')
    await writer.reportFailure(pod, {
      reason: 'SchedulerError',
      message: error.message,
      keepsNomination: false,
    })
    throw error
  }
}

const isGated = ({ spec }: Pod): boolean => (spec.schedulingGates ?? []).length > 0
