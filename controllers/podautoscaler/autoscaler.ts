/** Types of HorizontalPodAutoscalers. */
import type { Condition } from '#api/conditions.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { NamespacedObject } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'

export interface ScalingRules {
  selectPolicy?: string
  stabilizationWindowSeconds?: number
  policies?: { type: string; value: number; periodSeconds: number }[]
  tolerance?: string
}
export interface MetricTarget {
  type: string
  averageUtilization?: number
  averageValue?: string
  value?: string
}
export interface MetricIdentifier {
  name: string
  selector?: LabelSelector
}
export interface ObjectReference {
  apiVersion?: string
  kind: string
  name: string
}
export interface MetricSpec {
  type: string
  resource?: { name: string; target: MetricTarget }
  containerResource?: { name: string; container: string; target: MetricTarget }
  object?: { metric: MetricIdentifier; describedObject: ObjectReference; target: MetricTarget }
  pods?: { metric: MetricIdentifier; target: MetricTarget }
  external?: { metric: MetricIdentifier; target: MetricTarget }
}
export interface HorizontalPodAutoscaler extends NamespacedObject {
  spec: {
    scaleTargetRef: { apiVersion: string; kind: string; name: string }
    minReplicas?: number
    maxReplicas: number
    metrics?: MetricSpec[]
    behavior?: { scaleUp?: ScalingRules; scaleDown?: ScalingRules }
  }
  status: {
    observedGeneration?: number
    lastScaleTime?: string
    currentReplicas?: number
    desiredReplicas?: number
    currentMetrics?: unknown[] | null
    conditions?: Condition[]
  }
}

export interface Tolerances {
  up: number
  down: number
}
/** Deviations below these are ignored. */
export const tolerancesOf = (
  { spec }: HorizontalPodAutoscaler,
  toleranceDefault: number,
): Tolerances => {
  const own = (rules: ScalingRules | undefined): number =>
    rules?.tolerance === undefined ? toleranceDefault : quantity(rules.tolerance)
  return { up: own(spec.behavior?.scaleUp), down: own(spec.behavior?.scaleDown) }
}
const quantity = (text: string): number => Number(parseQuantity(text).nano) / 1e9
