/** Sizes workloads by what their Pods use, from metrics.k8s.io; upstream's horizontal-pod-autoscaler-controller. */
import { formatTime } from '#api/clock.js'
import { jsonEqual } from '#api/json-object.js'
import type { JsonValue, KubeObject } from '#api/object.js'
import { formatMilli, parseMilli } from '#client/amount.js'
import { type DiscoveredResource, discover } from '#client/discovery.js'
import { isNotFound, messageOf } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import type { Condition, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import {
  type HorizontalPodAutoscaler,
  limitReplicas,
  type Proposal,
  propose,
  type Recommendation,
} from './reconcile.js'

const component = 'horizontal-pod-autoscaler'
/** Upstream's --horizontal-pod-autoscaler-sync-period. */
const periodMs = 15_000
const recommendationsMax = 300

interface PodMetrics extends KubeObject {
  containers: { name: string; usage: Record<string, string> }[]
}
const podMetrics: DiscoveredResource = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'pods',
  kind: 'PodMetrics',
  namespaced: true,
  verbs: ['get', 'list'],
}
type Why = Pick<Condition, 'status' | 'reason' | 'message'>

class Autoscaler {
  readonly #context: ControllerContext
  readonly #recent = new Map<string, Recommendation[]>()

  constructor(context: ControllerContext) {
    this.#context = context
  }
  forget(key: string): void {
    this.#recent.delete(key)
  }

  async sync(hpa: HorizontalPodAutoscaler): Promise<void> {
    const conditions = new Map<string, Why>()
    try {
      await this.#scale(hpa, conditions)
    } catch (error) {
      if (isNotFound(error)) throw error
      this.#context.recorder(component).event(hpa, 'Warning', 'FailedSync', messageOf(error))
      throw error
    }
  }

  async #scale(hpa: HorizontalPodAutoscaler, conditions: Map<string, Why>): Promise<void> {
    const { client, clock, recorder } = this.#context
    const target = await this.#target(hpa)
    const at = { namespace: hpa.metadata.namespace!, name: hpa.spec.scaleTargetRef.name }
    const scale = await client.get(target, at, { subresource: 'scale' })
    conditions.set('AbleToScale', {
      status: 'True',
      reason: 'SucceededGetScale',
      message: "the HPA controller was able to get the target's current scale",
    })
    const current: number = scale.spec?.replicas ?? 0
    if (current === 0) {
      conditions.set('ScalingActive', {
        status: 'False',
        reason: 'ScalingDisabled',
        message: 'scaling is disabled since the replica count of the target is zero',
      })
      return this.#write(hpa, current, 0, [], conditions)
    }
    const { proposals, failure } = await this.#proposals(hpa, scale, current)
    if (proposals.length === 0) {
      const message = `the HPA was unable to compute the replica count: ${failure}`
      conditions.set('ScalingActive', {
        status: 'False',
        reason: 'FailedGetResourceMetric',
        message,
      })
      recorder(component).event(hpa, 'Warning', 'FailedGetResourceMetric', failure ?? '')
      return this.#write(hpa, current, current, [], conditions)
    }
    conditions.set('ScalingActive', {
      status: 'True',
      reason: 'ValidMetricFound',
      message:
        'the HPA was able to successfully calculate a replica count from the resource metrics',
    })
    const proposed = Math.max(...proposals.map((p) => p.replicas))
    const now = clock.now()
    const recent = [...(this.#recent.get(keyOf(hpa)) ?? []), { atMs: now, replicas: proposed }]
    this.#recent.set(keyOf(hpa), recent.slice(-recommendationsMax))
    const { replicas, limited, reason, message } = limitReplicas(
      hpa,
      proposed,
      current,
      recent,
      now,
    )
    conditions.set('ScalingLimited', { status: limited ? 'True' : 'False', reason, message })
    if (replicas !== current) {
      await client.update(
        target,
        { ...scale, spec: { ...scale.spec, replicas } },
        { subresource: 'scale' },
      )
      recorder(component).event(
        hpa,
        'Normal',
        'SuccessfulRescale',
        `New size: ${replicas}; reason: ${replicas > current ? 'resource utilization above target' : 'All metrics below target'}`,
      )
    }
    return this.#write(hpa, current, replicas, proposals, conditions)
  }

  async #target(hpa: HorizontalPodAutoscaler): Promise<DiscoveredResource> {
    const { apiVersion, kind } = hpa.spec.scaleTargetRef
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : ''
    const found = (await discover(this.#context.client)).resources.find(
      (r) => r.group === group && r.kind === kind && !r.resource.includes('/'),
    )
    if (found === undefined) throw new Error(`no matches for kind "${kind}" in group "${group}"`)
    return found
  }

  async #proposals(
    hpa: HorizontalPodAutoscaler,
    scale: KubeObject,
    current: number,
  ): Promise<{ proposals: Proposal[]; failure?: string }> {
    const { client } = this.#context
    const namespace = hpa.metadata.namespace!
    const labelSelector: string = scale.status?.selector ?? ''
    if (labelSelector === '') return { proposals: [], failure: 'selector is required' }
    const proposals: Proposal[] = []
    let failure: string | undefined
    try {
      const pods = (await client.list<Pod>(resources.pods, { namespace, labelSelector })).items
      const metrics = await client.list<PodMetrics>(podMetrics, { namespace, labelSelector })
      for (const { resource } of hpa.spec.metrics ?? []) {
        if (resource === undefined) continue
        const used = new Map(
          metrics.items.map((m) => [
            m.metadata.name!,
            m.containers.reduce((sum, c) => sum + parseMilli(c.usage[resource.name] ?? '0'), 0n),
          ]),
        )
        proposals.push(propose(pods, current, { used }, resource))
      }
    } catch (error) {
      failure = `unable to get metrics: ${messageOf(error)}`
    }
    return failure === undefined ? { proposals } : { proposals, failure }
  }

  async #write(
    hpa: HorizontalPodAutoscaler,
    currentReplicas: number,
    desiredReplicas: number,
    proposals: readonly Proposal[],
    wanted: ReadonlyMap<string, Why>,
  ): Promise<void> {
    const { client, clock, informers } = this.#context
    const time = formatTime(clock.now())
    const known = new Map((hpa.status?.conditions ?? []).map((c) => [c.type, c]))
    for (const [type, why] of wanted) {
      const before = known.get(type)
      const same = before?.status === why.status && before.lastTransitionTime
      known.set(type, {
        type,
        ...why,
        lastTransitionTime: same ? before.lastTransitionTime! : time,
      })
    }
    const metrics = (hpa.spec.metrics ?? []).filter((m) => m.resource !== undefined)
    const status = {
      ...hpa.status,
      observedGeneration: hpa.metadata.generation,
      currentReplicas,
      desiredReplicas,
      currentMetrics: proposals.map((p, i) => ({
        type: 'Resource',
        resource: {
          name: metrics[i]!.resource!.name,
          current: {
            averageValue: formatMilli(p.averageMilli, 'decimal'),
            ...(p.utilization === undefined ? {} : { averageUtilization: p.utilization }),
          },
        },
      })),
      conditions: [...known.values()],
      ...(desiredReplicas !== currentReplicas ? { lastScaleTime: time } : {}),
    }
    if (jsonEqual((hpa.status ?? {}) as JsonValue, status as unknown as JsonValue)) return
    informers
      .for<HorizontalPodAutoscaler>(resources.horizontalPodAutoscalers)
      .observe(
        await client.update(
          resources.horizontalPodAutoscalers,
          { ...hpa, status },
          { subresource: 'status' },
        ),
      )
  }
}

export const podAutoscalerController: Controller = {
  name: 'horizontal-pod-autoscaler-controller',
  start(context) {
    const hpas = context.informers.for<HorizontalPodAutoscaler>(resources.horizontalPodAutoscalers)
    const autoscaler = new Autoscaler(context)
    const queue = newQueue()
    // Usage makes no event: each is looked at by the clock, and its own status is no reason.
    hpas.handle({
      onAdd: (hpa) => queue.add(keyOf(hpa)),
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
      return { afterMs: periodMs }
    })
  },
}
