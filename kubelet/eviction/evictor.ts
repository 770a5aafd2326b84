/**
 * Evicts Pods that exceed their own storage limits, and one Pod at a time while the node is short of something. Checks
 * every ten seconds, and again as soon as an evicted Pod is gone. Upstream: pkg/kubelet/eviction/eviction_manager.go.
 */
import { sleep } from '#async/sleep.js'
import { messageOf } from '#client/errors.js'
import type { EventRecorder } from '#client/event-recorder.js'
import type { EventSubject } from '#client/event-sink.js'
import type { Log } from '#client/log.js'
import { tolerates } from '#client/pod.js'
import { limits } from '#limits'
import type { Refusal } from '../admission.js'
import { type Endable, endInTime, type ForcedEnd } from '../forced-end.js'
import { formatPod, isCritical, type Pod } from '../pod.js'
import type { ContainerRuntime } from '../runtime.js'
import { isOtherDisk, observeMachine } from './machine-signals.js'
import { exceededLimit, hasOwnLimits } from './own-limits.js'
import type { PodUsage, PodUsageReader } from './pod-usage.js'
import { NodePressure } from './pressure.js'
import { evictionMessage, rankForEviction } from './rank.js'
import { type Observations, type Pressure, signals } from './signals.js'
import type { Threshold } from './thresholds.js'

export interface EvictionSettings {
  readonly thresholds: readonly Threshold[]
  /** How long a condition of pressure stays after the pressure has ended. */
  readonly pressureTransitionMs: number
  /** Images that are known for less than this are not removed. */
  readonly imageAgeMsMin: number
  /** Longest grace of a Pod that is evicted at a soft threshold. */
  readonly maxPodGraceSeconds: number
}

interface EvictorDeps {
  readonly settings: EvictionSettings
  readonly runtime: ContainerRuntime
  readonly usage: PodUsageReader
  /** A folder on the node's disk. */
  readonly folder: string
  readonly events: EventRecorder
  readonly log: Log
  /** What events about the Node name. */
  readonly node: EventSubject
  active(): readonly Endable[]
  /** Removes containers of ended Pods. */
  removeEnded(): Promise<void>
  /** Removes images that no container uses. */
  removeUnusedImages(): Promise<void>
  /** Writes the Node's status. */
  report(): Promise<void>
}

const reason = 'Evicted'
/** Upstream's immediateEvictionGracePeriodSeconds. */
const graceSecondsAtOnce = 1

export class Evictor {
  readonly #deps: EvictorDeps
  readonly #pressure: NodePressure

  constructor(deps: EvictorDeps) {
    this.#deps = deps
    const { thresholds, pressureTransitionMs } = deps.settings
    this.#pressure = new NodePressure(thresholds, pressureTransitionMs)
  }

  get pressures(): readonly Pressure[] {
    return this.#pressure.pressures
  }

  /** Why the node refuses the Pod while it is under pressure. */
  refusalOf(pod: Pod): Refusal | undefined {
    const { pressures } = this
    if (pressures.length === 0 || isCritical(pod)) return undefined
    if (pressures.every((pressure) => pressure === 'MemoryPressure')) {
      if (pod.status?.qosClass !== 'BestEffort') return undefined
      const taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' }
      if (pod.spec.tolerations?.some((one) => tolerates(one, taint))) return undefined
    }
    return { reason, message: `The node had condition: [${pressures.join(' ')}]. ` }
  }

  /** Runs until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const evicted = await this.#look().catch((error) => {
        this.#deps.log.warn({ error: messageOf(error) }, 'the eviction check failed, will retry')
        return []
      })
      if (evicted.length === 0) await sleep(limits.evictionPeriodMs, signal)
      else
        await Promise.race([Promise.allSettled(evicted), sleep(limits.evictionWaitMsMax, signal)])
    }
  }

  /** Yields promises of the ends of evicted Pods. */
  async #look(): Promise<readonly Promise<void>[]> {
    const { runtime, settings } = this.#deps
    const needed = settings.thresholds.length > 0
    const active = this.#deps.active().filter(({ pod }) => needed || hasOwnLimits(pod))
    if (!needed && active.length === 0) return []
    const imageFolder = await runtime.imageFolder()
    const ownImageDisk = await isOtherDisk(this.#deps.folder, imageFolder)
    const observations = await this.#observe(imageFolder)
    const starved = this.#takeIn(observations)
    const measured = starved.length > 0 ? active : active.filter(({ pod }) => hasOwnLimits(pod))
    const usages = await this.#deps.usage.read(measured.map(({ pod }) => pod))
    const greedy = this.#evictGreedy(measured, usages, ownImageDisk)
    if (greedy.length > 0 || starved.length === 0) return greedy
    return this.#relieve({ starved, observations, active, usages, imageFolder, ownImageDisk })
  }

  #observe(imageFolder: string | undefined): Promise<Observations> {
    return observeMachine(this.#deps.folder, imageFolder)
  }

  #takeIn(observations: Observations): Threshold[] {
    const before = this.pressures
    const starved = this.#pressure.observe(observations, performance.now())
    if (before.join() === this.pressures.join()) return starved
    this.#deps
      .report()
      .catch((error) =>
        this.#deps.log.warn({ error: messageOf(error) }, 'the Node was not reported'),
      )
    return starved
  }

  #evictGreedy(
    active: readonly Endable[],
    usages: ReadonlyMap<string, PodUsage>,
    ownImageDisk: boolean,
  ): Promise<void>[] {
    return active.flatMap((one) => {
      const message = exceededLimit(one.pod, usages.get(one.pod.metadata.uid)!, ownImageDisk)
      if (message === undefined) return []
      const graceSeconds = graceSecondsAtOnce
      return this.#evict(one, { reason, message, graceSeconds }) ?? []
    })
  }

  /** First reclaims what nobody needs, then evicts one Pod. */
  async #relieve(look: {
    readonly starved: readonly Threshold[]
    readonly observations: Observations
    readonly active: readonly Endable[]
    readonly usages: ReadonlyMap<string, PodUsage>
    readonly imageFolder: string | undefined
    readonly ownImageDisk: boolean
  }): Promise<readonly Promise<void>[]> {
    const { starved, observations, usages, imageFolder, ownImageDisk } = look
    const { events, node, settings } = this.#deps
    const [threshold] = starved
    const { signal, graceMs } = threshold!
    const { resource, pressure } = signals[signal]
    events.event(node, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`)
    const hasNothingOfIt = ownImageDisk && signal.startsWith('nodefs')
    if (pressure === 'DiskPressure' && !hasNothingOfIt) {
      await this.#deps.removeEnded()
      await this.#deps.removeUnusedImages()
      if (this.#pressure.isRelieved(await this.#observe(imageFolder))) return []
    }
    const candidates = look.active.map((one) => ({
      one,
      pod: one.pod,
      usage: usages.get(one.pod.metadata.uid)!,
    }))
    for (const candidate of rankForEviction(signal, candidates, ownImageDisk)) {
      const about = { thresholds: starved, observations }
      const { message, annotations } = evictionMessage(threshold!, candidate, about)
      const own = candidate.pod.spec.terminationGracePeriodSeconds ?? settings.maxPodGraceSeconds
      const graceSeconds =
        graceMs === 0 ? graceSecondsAtOnce : Math.min(own, settings.maxPodGraceSeconds)
      const end = { reason, message, graceSeconds, disruption: message }
      const ended = this.#evict(candidate.one, end, annotations)
      if (ended) return [ended]
    }
    return []
  }

  /** Undefined for a critical Pod, which is not evicted. */
  #evict(
    one: Endable,
    end: ForcedEnd,
    annotations?: Readonly<Record<string, string>>,
  ): Promise<void> | undefined {
    const { events, log } = this.#deps
    const { pod } = one
    if (isCritical(pod)) {
      log.warn({ pod: formatPod(pod), message: end.message }, 'a critical Pod cannot be evicted')
      return undefined
    }
    events.event(pod, 'Warning', reason, end.message, annotations ? { annotations } : {})
    return endInTime(one, end, events)
  }
}
