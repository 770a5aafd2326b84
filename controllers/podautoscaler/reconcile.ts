/** From what Pods use to how many there should be. Pure; upstream's replica calculator and behaviour rules. */
import type { KubeObject } from '#api/object.js'
import { parseMilli } from '#client/amount.js'
import type { Condition, Pod } from '#client/pod.js'
import { isPodReady, isPodTerminal } from '#client/pod.js'

export interface ScalingRules {
  selectPolicy?: string
  stabilizationWindowSeconds?: number
  policies?: { type: string; value: number; periodSeconds: number }[]
  tolerance?: string
}
export interface HorizontalPodAutoscaler extends KubeObject {
  spec: {
    scaleTargetRef: { apiVersion: string; kind: string; name: string }
    minReplicas?: number
    maxReplicas: number
    metrics?: {
      type: string
      resource?: {
        name: string
        target: { type: string; averageUtilization?: number; averageValue?: string }
      }
    }[]
    behavior?: { scaleUp?: ScalingRules; scaleDown?: ScalingRules }
  }
  status: {
    observedGeneration?: number
    lastScaleTime?: string
    currentReplicas?: number
    desiredReplicas?: number
    currentMetrics?: unknown[]
    conditions?: Condition[]
  }
}

/** Deviations below this are noise; upstream's --horizontal-pod-autoscaler-tolerance. */
const tolerance = 0.1

export interface Usage {
  /** Pod name → used, in thousandths. */
  used: ReadonlyMap<string, bigint>
}
export interface Proposal {
  replicas: number
  averageMilli: bigint
  utilization: number | undefined
}

const requestOf = (pod: Pod, resource: string): bigint =>
  pod.spec.containers.reduce(
    (sum, c) => sum + parseMilli(c.resources?.requests?.[resource] ?? '0'),
    0n,
  )

/** Throws, in upstream's words, when nothing can be said. */
export const propose = (
  pods: readonly Pod[],
  current: number,
  usage: Usage,
  metric: NonNullable<NonNullable<HorizontalPodAutoscaler['spec']['metrics']>[number]['resource']>,
): Proposal => {
  const candidates = pods.filter(
    (p) => !isPodTerminal(p) && p.metadata.deletionTimestamp === undefined,
  )
  const measured = candidates.filter((p) => usage.used.has(p.metadata.name!) && isPodReady(p))
  if (measured.length === 0) throw new Error(`no metrics returned from resource metrics API`)
  const used = measured.reduce((sum, p) => sum + usage.used.get(p.metadata.name!)!, 0n)
  const { averageUtilization, averageValue } = metric.target
  let wantedPerPod: bigint
  let utilization: number | undefined
  if (averageUtilization !== undefined) {
    const requested = measured.map((p) => requestOf(p, metric.name))
    const missing = measured[requested.indexOf(0n)]
    if (missing !== undefined)
      throw new Error(
        `missing request for ${metric.name} in container ${missing.spec.containers[0]?.name} of Pod ${missing.metadata.name}`,
      )
    const total = requested.reduce((sum, r) => sum + r, 0n)
    utilization = Math.floor(Number((used * 100n) / total))
    wantedPerPod = (total * BigInt(averageUtilization)) / (100n * BigInt(measured.length))
  } else wantedPerPod = parseMilli(averageValue ?? '0')
  const averageMilli = used / BigInt(measured.length)
  const ratio = wantedPerPod === 0n ? 1 : Number(averageMilli) / Number(wantedPerPod)
  const unmeasured = candidates.length - measured.length
  return {
    averageMilli,
    utilization,
    replicas: replicasFor(ratio, current, measured.length, unmeasured),
  }
}

/**
 * Pods that cannot be asked count against the direction: as using nothing when growing, as using all they may when
 * shrinking; if that turns the direction round, nothing changes.
 */
const replicasFor = (
  ratio: number,
  current: number,
  measured: number,
  unmeasured: number,
): number => {
  if (Math.abs(1 - ratio) <= tolerance) return current
  if (unmeasured === 0) return Math.ceil(ratio * measured)
  const all = measured + unmeasured
  const careful = ratio > 1 ? (ratio * measured) / all : (ratio * measured + unmeasured) / all
  if (Math.abs(1 - careful) <= tolerance || careful > 1 !== ratio > 1) return current
  return Math.ceil(careful * all)
}

export interface Recommendation {
  atMs: number
  replicas: number
}

/** The bounds, the pace and the memory of the last minutes: what is really asked for. */
export const limitReplicas = (
  hpa: HorizontalPodAutoscaler,
  proposed: number,
  current: number,
  recent: readonly Recommendation[],
  now: number,
): { replicas: number; reason: string; message: string; limited: boolean } => {
  const window = (seconds: number): number[] =>
    recent.filter((r) => now - r.atMs <= seconds * 1000).map((r) => r.replicas)
  const up = Math.min(
    proposed,
    ...window(hpa.spec.behavior?.scaleUp?.stabilizationWindowSeconds ?? 0),
  )
  const down = Math.max(
    proposed,
    ...window(hpa.spec.behavior?.scaleDown?.stabilizationWindowSeconds ?? 300),
  )
  const stable = proposed > current ? Math.max(up, current) : Math.min(down, current)
  const min = hpa.spec.minReplicas ?? 1
  const max = hpa.spec.maxReplicas
  const paceMax =
    hpa.spec.behavior?.scaleUp?.selectPolicy === 'Disabled'
      ? current
      : Math.max(current * 2, current + 4)
  const paceMin = hpa.spec.behavior?.scaleDown?.selectPolicy === 'Disabled' ? current : min
  if (stable > Math.min(max, paceMax))
    return paceMax < max
      ? {
          replicas: paceMax,
          limited: true,
          reason: 'ScaleUpLimit',
          message: 'the desired replica count is increasing faster than the maximum scale rate',
        }
      : {
          replicas: max,
          limited: true,
          reason: 'TooManyReplicas',
          message: 'the desired replica count is more than the maximum replica count',
        }
  if (stable < Math.max(min, paceMin))
    return {
      replicas: Math.max(min, paceMin),
      limited: true,
      reason: 'TooFewReplicas',
      message: 'the desired replica count is less than the minimum replica count',
    }
  return {
    replicas: stable,
    limited: false,
    reason: 'DesiredWithinRange',
    message: 'the desired count is within the acceptable range',
  }
}
