/** Sizes workloads by metrics of their Pods, of other objects and from outside; upstream's horizontal-pod-autoscaler-controller. */
import { formatTime } from '#api/clock.js'
import { type Condition, sinceWhen } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import { matchesLabels } from '#api/selectors.js'
import { type DiscoveredResource, discoverKind } from '#client/discovery.js'
import { isConflict, messageOf } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { jsonEqual } from '#json/object.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { updateStatus } from '../update-object.js'
import { type HorizontalPodAutoscaler, tolerancesOf } from './autoscaler.js'
import { type Measured, measureAll, type Selector } from './metrics.js'
import { pace, type Recommendation, remember, type ScaleEvent } from './pace.js'

const component = 'horizontal-pod-autoscaler'
/** Longest window and period that the API takes. */
const historyMs = 3_600_000

type Why = Pick<Condition, 'status' | 'reason' | 'message'>
interface Outcome {
  current: number
  desired: number
  metrics: unknown[] | undefined
  rescaled: boolean
}
interface Memory {
  recommendations: Recommendation[]
  events: ScaleEvent[]
}

class Autoscaler {
  readonly #context: ControllerContext
  readonly #memory = new Map<string, Memory>()
  /** What the targets of the autoscalers select, by the autoscalers' keys. */
  readonly #selectors = new Map<string, Selector>()

  constructor(context: ControllerContext) {
    this.#context = context
  }
  forget(key: string): void {
    this.#memory.delete(key)
    this.#selectors.delete(key)
  }

  /** Autoscalers with the same Pods would work against each other, so none of them acts. */
  #autoscalersOf(key: string, selector: Selector, pods: readonly Pod[]): string[] {
    this.#selectors.set(key, selector)
    const namespace = key.slice(0, key.indexOf('/') + 1)
    return [...this.#selectors]
      .filter(
        ([other, theirs]) =>
          other.startsWith(namespace) &&
          pods.some(({ metadata }) => matchesLabels(theirs, metadata.labels)),
      )
      .map(([other]) => other)
      .sort()
  }

  #event(
    hpa: HorizontalPodAutoscaler,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    this.#context.recorder(component).event(hpa, type, reason, message)
  }

  #memoryOf(hpa: HorizontalPodAutoscaler, current: number, now: number): Memory {
    const known = this.#memory.get(keyOf(hpa))
    const isFresh = ({ atMs }: { atMs: number }): boolean => now - atMs <= historyMs
    const memory: Memory = {
      recommendations: known?.recommendations.filter(isFresh) ?? [{ atMs: now, replicas: current }],
      events: known?.events.filter(isFresh) ?? [],
    }
    this.#memory.set(keyOf(hpa), memory)
    return memory
  }

  async sync(hpa: HorizontalPodAutoscaler): Promise<void> {
    const conditions = new Map<string, Why>()
    let target: DiscoveredResource
    let scale: PersistedObject
    try {
      target = await discoverKind(this.#context.client, hpa.spec.scaleTargetRef)
      scale = await this.#context.client.get(target, scaleOf(hpa), { subresource: 'scale' })
    } catch (error) {
      const message = messageOf(error)
      this.#event(hpa, 'Warning', 'FailedGetScale', message)
      conditions.set('AbleToScale', {
        status: 'False',
        reason: 'FailedGetScale',
        message: `the HPA controller was unable to get the target's current scale: ${message}`,
      })
      return this.#write(hpa, undefined, conditions)
    }
    conditions.set('AbleToScale', {
      status: 'True',
      reason: 'SucceededGetScale',
      message: "the HPA controller was able to get the target's current scale",
    })
    return this.#write(hpa, await this.#size(hpa, target, scale, conditions), conditions)
  }

  async #size(
    hpa: HorizontalPodAutoscaler,
    target: DiscoveredResource,
    scale: PersistedObject,
    conditions: Map<string, Why>,
  ): Promise<Outcome> {
    const current: number = scale.spec?.replicas ?? 0
    const now = this.#context.clock.now()
    const memory = this.#memoryOf(hpa, current, now)
    const { minReplicas = 1, maxReplicas } = hpa.spec
    const rescale = (desired: number, reason: string, metrics?: unknown[]): Promise<Outcome> =>
      this.#rescale(
        { hpa, target, scale, memory, conditions },
        { current, desired, metrics },
        reason,
      )
    if (current === 0 && minReplicas !== 0) {
      conditions.set('ScalingActive', {
        status: 'False',
        reason: 'ScalingDisabled',
        message: 'scaling is disabled since the replica count of the target is zero',
      })
      return { current, desired: 0, metrics: undefined, rescaled: false }
    }
    if (current > maxReplicas)
      return rescale(maxReplicas, 'Current number of replicas above Spec.MaxReplicas')
    if (current < minReplicas)
      return rescale(minReplicas, 'Current number of replicas below Spec.MinReplicas')
    const measured = await this.#measure(hpa, scale, current, conditions)
    if (measured.best === undefined) {
      this.#event(hpa, 'Warning', 'FailedComputeMetricsReplicas', measured.failure!)
      const desired = hpa.status?.desiredReplicas ?? 0
      return { current, desired, metrics: measured.statuses, rescaled: false }
    }
    const proposed = measured.best.replicas
    const { downscaleStabilizationMs } = this.#context.settings.autoscaling
    const history = { ...memory, downscaleWindowSeconds: downscaleStabilizationMs / 1000 }
    const { replicas, ableToScale, limited } = pace(hpa, { current, proposed }, history, now)
    memory.recommendations = remember(hpa, proposed, history, now)
    conditions.set('AbleToScale', ableToScale)
    conditions.set('ScalingLimited', limited)
    if (replicas === current)
      return { current, desired: current, metrics: measured.statuses, rescaled: false }
    return rescale(
      replicas,
      proposed > current
        ? `${measured.best.name} above target`
        : proposed < current
          ? 'All metrics below target'
          : '',
      measured.statuses,
    )
  }

  async #measure(
    hpa: HorizontalPodAutoscaler,
    scale: PersistedObject,
    current: number,
    conditions: Map<string, Why>,
  ): Promise<Measured> {
    const { client, clock, informers, settings } = this.#context
    const { autoscaling } = settings
    const measured = await measureAll({
      client,
      hpa,
      namespace: hpa.metadata.namespace,
      labelSelector: scale.status?.selector ?? '',
      pods: informers.for<Pod>(resources.pods).store.byIndex('namespace', hpa.metadata.namespace),
      current,
      shown: scale.status?.replicas ?? 0,
      tolerances: tolerancesOf(hpa, autoscaling.tolerance),
      starting: autoscaling,
      autoscalersOf: (selector, selected) => this.#autoscalersOf(keyOf(hpa), selector, selected),
      now: clock.now(),
    })
    for (const { event } of measured.problems)
      this.#event(hpa, 'Warning', event.reason, event.message)
    const [first] = measured.problems
    conditions.set(
      'ScalingActive',
      measured.best === undefined
        ? { status: 'False', ...first!.condition }
        : {
            status: 'True',
            reason: 'ValidMetricFound',
            message: `the HPA was able to successfully calculate a replica count from ${measured.best.name}`,
          },
    )
    return measured
  }

  async #rescale(
    at: {
      hpa: HorizontalPodAutoscaler
      target: DiscoveredResource
      scale: PersistedObject
      memory: Memory
      conditions: Map<string, Why>
    },
    size: Omit<Outcome, 'rescaled'>,
    reason: string,
  ): Promise<Outcome> {
    const { hpa, target, scale, memory, conditions } = at
    const { current, desired } = size
    const what = `New size: ${desired}; reason: ${reason}`
    try {
      await this.#putScale(target, hpa, scale, desired)
    } catch (error) {
      const message = messageOf(error)
      this.#event(hpa, 'Warning', 'FailedRescale', `${what}; error: ${message}`)
      conditions.set('AbleToScale', {
        status: 'False',
        reason: 'FailedUpdateScale',
        message: `the HPA controller was unable to update the target scale: ${message}`,
      })
      return { ...size, desired: hpa.status?.desiredReplicas ?? 0, rescaled: false }
    }
    conditions.set('AbleToScale', {
      status: 'True',
      reason: 'SucceededRescale',
      message: `the HPA controller was able to update the target scale to ${desired}`,
    })
    this.#event(hpa, 'Normal', 'SuccessfulRescale', what)
    memory.events.push({ atMs: this.#context.clock.now(), change: desired - current })
    return { ...size, rescaled: true }
  }

  async #putScale(
    target: DiscoveredResource,
    hpa: HorizontalPodAutoscaler,
    scale: PersistedObject,
    replicas: number,
  ): Promise<void> {
    const { client } = this.#context
    const put = (from: PersistedObject): Promise<unknown> =>
      client.update(target, { ...from, spec: { ...from.spec, replicas } }, { subresource: 'scale' })
    try {
      await put(scale)
    } catch (error) {
      if (!isConflict(error)) throw error
      await put(await client.get(target, scaleOf(hpa), { subresource: 'scale' }))
    }
  }

  /** `outcome` is undefined when not even the size is known. */
  async #write(
    hpa: HorizontalPodAutoscaler,
    outcome: Outcome | undefined,
    wanted: ReadonlyMap<string, Why>,
  ): Promise<void> {
    const { clock } = this.#context
    const time = formatTime(clock.now())
    const known = new Map((hpa.status?.conditions ?? []).map((c) => [c.type, c]))
    for (const [type, why] of wanted) {
      const lastTransitionTime = sinceWhen(known.get(type), why.status, time)
      known.set(type, { type, ...why, lastTransitionTime })
    }
    const { lastScaleTime } = hpa.status ?? {}
    const shown = outcome?.rescaled ? time : lastScaleTime
    const status = {
      ...(outcome === undefined
        ? hpa.status
        : {
            currentReplicas: outcome.current,
            desiredReplicas: outcome.desired,
            currentMetrics: outcome.metrics ?? null,
            ...(shown ? { lastScaleTime: shown } : {}),
          }),
      conditions: [...known.values()],
    }
    if (jsonEqual(hpa.status ?? {}, status)) return
    await updateStatus(this.#context, resources.horizontalPodAutoscalers, hpa, status)
  }
}

const scaleOf = ({ metadata, spec }: HorizontalPodAutoscaler) => ({
  namespace: metadata.namespace,
  name: spec.scaleTargetRef.name,
})

export const podAutoscalerController: Controller = {
  name: 'horizontal-pod-autoscaler-controller',
  serviceAccount: 'horizontal-pod-autoscaler',
  start(context) {
    const hpas = context.informers.for<HorizontalPodAutoscaler>(resources.horizontalPodAutoscalers)
    context.informers.for<Pod>(resources.pods)
    const autoscaler = new Autoscaler(context)
    const { autoscalerPeriodMs: periodMs } = context.settings
    const queue = newQueue(context, 'horizontalpodautoscaler')
    // Usage makes no event, so autoscalers are synced by the clock. A change of their own status causes no sync.
    hpas.handle({
      // Not at once: a workload that is made with it would have no figures yet.
      onAdd: (hpa) => queue.addAfter(keyOf(hpa), periodMs),
      onDelete: (hpa) => autoscaler.forget(keyOf(hpa)),
    })
    return queueRun(context, queue, async (key) => {
      const hpa = hpas.store.get(key)
      if (hpa === undefined) return undefined
      try {
        await autoscaler.sync(hpa)
      } catch (error) {
        context.log.info({ hpa: key, error: messageOf(error) }, 'autoscaler')
      }
      // What was learned of it after it had gone would be taken for that of the next one of its name.
      if (hpas.store.get(key)?.metadata.uid !== hpa.metadata.uid) autoscaler.forget(key)
      return { afterMs: periodMs }
    })
  },
}
