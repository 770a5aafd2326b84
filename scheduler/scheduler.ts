import { withOwnSignal } from '#async/own-signal.js'
import { isNotFound, messageOf } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import type { Log } from '#client/log.js'
import { keyOf } from '#client/object-store.js'
import { isPodTerminal, type Node, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { ClusterState, type ClusterView, type Service } from './cluster-state.js'
import type { Backoff } from './configuration/read-configuration.js'
import { decide } from './decide.js'
import { type DeviceFindings, DynamicResources } from './devices/dynamic-resources.js'
import { FilterFailure } from './filter.js'
import { NamedSchedulers, type NamedSchedulersDeps } from './named-schedulers.js'
import { PendingPods } from './pending-pods.js'
import { findPreemption, noPreemption, type Refusing } from './preemption.js'
import type { Budget } from './victims.js'
import { VolumeBinding } from './volume-binding.js'
import type { ClaimFindings } from './volume-claims.js'
import { isNewNeighbour, leavesRoom, looksAtNeighbours, nodeMayFit } from './waking-changes.js'

interface SchedulerDeps extends NamedSchedulersDeps {
  log: Log
  backoff: Backoff
}

/** The Pod has no use any more for what it waits for. */
class WaitEnded extends Error {}

export class Scheduler {
  readonly #deps: SchedulerDeps
  readonly #state: ClusterState
  readonly #pending: PendingPods
  readonly #volumes: VolumeBinding
  readonly #budgets: Informer<Budget>
  readonly #devices: DynamicResources
  readonly #schedulers: NamedSchedulers
  /** Pods whose binding or preemption is under way. */
  readonly #busy = new Set<string>()
  /** Of those that wait for volumes or devices, which may take minutes, by their uids: what ends the wait. */
  readonly #waits = new Map<string, AbortController>()
  /** Bound by us, not yet seen bound on the watch: key → uid. */
  readonly #assumed = new Map<string, string>()
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
    const unpark = (): void => this.#pending.unparkAll()
    this.#volumes = new VolumeBinding(deps, unpark)
    this.#budgets = informers.for<Budget>(resources.podDisruptionBudgets)
    this.#devices = new DynamicResources(deps, unpark)
    informers.for<Node>(resources.nodes).handle({
      onAdd: (node) => this.#nodeChanged(node),
      onUpdate: (node, previous) => {
        if (nodeMayFit(node, previous)) this.#nodeChanged(node)
        else this.#state.setNode(node)
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
        this.#waits.get(pod.metadata.uid)?.abort(new WaitEnded('pod does not exist any more'))
        this.#podGone(keyOf(pod))
      },
    })
  }

  /** Runs until the signal fires and all work under way is done. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const pod = await this.#pending.next(this.#busy, signal)
      if (pod === undefined) break
      this.#schedule(pod, signal)
      while (this.#busy.size - this.#waits.size >= limits.bindingsMax) await this.#someIdle()
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
    this.#pending.unpark(looksAtNeighbours)
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

  #wakeOthers(pod: Pod, previous: Pod | undefined): void {
    if (isPodTerminal(pod)) return
    if (pod.spec.nodeName) {
      if (previous?.spec.nodeName && leavesRoom(pod, previous)) this.#pending.unparkAll()
      else if (isNewNeighbour(pod, previous)) this.#pending.unpark(looksAtNeighbours)
      return
    }
    const room = previous?.status?.nominatedNodeName
    if (room && room !== pod.status?.nominatedNodeName) this.#pending.unparkAll()
  }

  #podWaits(pod: Pod, key: string): void {
    const mine = this.#schedulers.own(pod)
    const gated = (pod.spec.schedulingGates ?? []).length > 0
    if (mine && !gated) this.#state.nominate(pod)
    if (!mine || gated || pod.metadata.deletionTimestamp !== undefined) this.#pending.remove(key)
    else if (!this.#busy.has(key)) this.#pending.put(pod)
  }

  /** A Pod about which nothing can be decided is told so, and keeps no other from its node. */
  #schedule(pod: Pod, signal: AbortSignal): void {
    try {
      this.#decide(pod, signal)
    } catch (error) {
      if (!(error instanceof FilterFailure))
        this.#deps.log.error({ err: error, pod: keyOf(pod) }, 'cannot decide')
      this.#attend(pod, this.#fail(pod, error as Error))
    }
  }

  #decide(pod: Pod, signal: AbortSignal): void {
    // Not an attempt yet: its claims have not been made. Upstream: DynamicResources.PreEnqueue.
    if (this.#devices.awaitsClaim(pod)) {
      this.#pending.waits(pod)
      return
    }
    const { profile } = this.#schedulers.of(pod)
    const claims = this.#volumes.inspect(pod)
    const devices = this.#devices.inspect(pod, profile.deviceTimeoutMs)
    const cluster = this.#state.viewFor(pod)
    const view: ClusterView = {
      ...cluster,
      volumeProblem: claims.problem,
      deviceProblem: devices.problem,
      volumeFilter: this.#volumes.filter(pod, claims, cluster.nodes),
      deviceFilter: devices.filter,
      isDevice: (resource) => this.#devices.classFor(resource) !== undefined,
    }
    const decision = decide(pod, view, profile)
    if (decision.node === undefined) this.#fitsNowhere(pod, { decision, view, devices })
    else {
      this.#state.setPod(pod, decision.node)
      this.#devices.reserve(devices, decision.node)
      this.#attend(pod, this.#bind(pod, decision.node, { claims, devices }, signal))
    }
  }

  /** Tells of it, and does what may help the next time. */
  #fitsNowhere(
    pod: Pod,
    { decision, view, devices }: { decision: Refusing; view: ClusterView; devices: DeviceFindings },
  ): void {
    this.#pending.failed(pod, { park: true })
    const { profile, writer } = this.#schedulers.of(pod)
    const found = profile.preempts
      ? findPreemption(pod, decision, view, this.#budgets.store.list())
      : noPreemption
    // Plugins that look for a remedy (upstream's PostFilter) are asked only if nodes were looked at.
    const remedy = decision.refused.length > 0 ? this.#devices.remedy(devices, pod) : undefined
    const { message } = decision
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
            givesUp: (other) => this.#givesUp(other),
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
        this.#idle?.()
      })
  }

  async #bind(
    waiting: Pod,
    node: string,
    { claims, devices }: { claims: ClaimFindings; devices: DeviceFindings },
    signal: AbortSignal,
  ): Promise<void> {
    let pod = waiting
    try {
      if (claims.waiting.length > 0 || devices.filter !== undefined)
        pod = await this.#schedulers.of(waiting).writer.nominate(waiting, node)
      // Claims stay as they are: whoever schedules next waits for their devices, too.
      if (!(await this.#preBind(pod, node, { claims, devices }, signal))) return
      await failsAs('running Bind plugin "DefaultBinder"', () =>
        this.#schedulers.of(pod).writer.bind(pod, node),
      )
      const seen = this.#deps.informers.for<Pod>(resources.pods).store.get(keyOf(pod))
      if (seen?.spec.nodeName === undefined) this.#assumed.set(keyOf(pod), pod.metadata.uid)
      this.#pending.remove(keyOf(pod))
    } catch (error) {
      this.#state.removePod(keyOf(pod))
      const released = this.#devices.release(devices, pod, node)
      // Others were refused for what it would have taken (upstream: handleBindingCycleError).
      this.#pending.unparkAll()
      await released
      const { cause } = error as Error
      if (isNotFound(cause)) return this.#pending.failed(pod, { park: false })
      await this.#fail(pod, error as Error)
    }
  }

  /** What a node has to have for the Pod is made ready, all of it at once. False: the signal came first. */
  #preBind(
    pod: Pod,
    node: string,
    { claims, devices }: { claims: ClaimFindings; devices: DeviceFindings },
    signal: AbortSignal,
  ): Promise<boolean> {
    return withOwnSignal(signal, async (own) => {
      const parts = [
        failsAs('running PreBind plugin "VolumeBinding"', () =>
          this.#bindVolumes(pod, node, claims, own),
        ),
        failsAs('running PreBind plugin "DynamicResources"', () =>
          this.#prepareDevices(pod, node, devices, own),
        ),
      ]
      try {
        return (await Promise.all(parts)).every((isReady) => isReady)
      } catch (error) {
        own.abort(error)
        await Promise.allSettled(parts)
        throw error
      } finally {
        this.#waits.delete(pod.metadata.uid)
      }
    })
  }

  /** Waits until the Pod's claims are bound to volumes that its node can use. */
  async #bindVolumes(
    pod: Pod,
    node: string,
    claims: ClaimFindings,
    own: AbortController,
  ): Promise<boolean> {
    if (claims.waiting.length === 0) return true
    const nodeOf = (): Node => {
      const found = this.#state.info(node)?.node
      if (found !== undefined) return found
      throw new Error(`failed to get node "${node}": node "${node}" not found`)
    }
    const chosen = await this.#volumes.bind(claims, nodeOf())
    const { volumeTimeoutMs: timeoutMs } = this.#schedulers.of(pod).profile
    return failsAs('binding volumes', () =>
      this.#wait(pod, own, () =>
        this.#volumes.untilBound(chosen, nodeOf, { timeoutMs, signal: own.signal }),
      ),
    )
  }

  /** Writes the claims of the Pod, and waits until drivers have prepared their devices. */
  async #prepareDevices(
    pod: Pod,
    node: string,
    devices: DeviceFindings,
    own: AbortController,
  ): Promise<boolean> {
    const claims = await this.#devices.bind(devices, pod, node)
    if (!this.#devices.haveToBeReady(claims)) return true
    const { profile, writer } = this.#schedulers.of(pod)
    writer.tellBindingConditions(pod, node)
    return this.#wait(pod, own, () =>
      this.#devices.untilReady(claims, pod, {
        timeoutMs: profile.deviceTimeoutMs,
        signal: own.signal,
      }),
    )
  }

  /** Others go on meanwhile, and may end the wait. */
  async #wait(
    { metadata }: Pod,
    own: AbortController,
    until: () => Promise<boolean>,
  ): Promise<boolean> {
    this.#waits.set(metadata.uid, own)
    this.#idle?.()
    const isReady = await until()
    if (own.signal.reason instanceof WaitEnded) throw own.signal.reason
    return isReady
  }

  /** A Pod that is not bound yet need not end for another one. */
  #givesUp({ metadata }: Pod): boolean {
    const wait = this.#waits.get(metadata.uid)
    wait?.abort(new WaitEnded('preempted by DefaultPreemption'))
    return wait !== undefined
  }

  /** Something went wrong that is nobody's lack of room: the Pod is tried again soon. */
  async #fail(pod: Pod, error: Error): Promise<never> {
    await this.#schedulers.of(pod).writer.reportFailure(pod, {
      reason: 'SchedulerError',
      message: error.message,
      keepsNomination: false,
    })
    throw error
  }
}

const failsAs = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act()
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
  }
}
