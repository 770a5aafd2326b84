/**
 * autoscaling/v1 knows one metric, the utilization of CPU; everything else of an autoscaler is carried in annotations
 * (kubernetes, pkg/apis/autoscaling/v1/conversion.go).
 */
import type { KubeObject } from '#api/object.js'
import { stringify } from '#json/json.js'
import { inGoOrder } from '#registry/decode/go-order.js'
import { defineKind } from '#registry/resource-definition.js'
import { horizontalPodAutoscalerCells } from '../table/autoscaler-cells.js'
import {
  type CarriedKey,
  carriedKeys,
  carriedList,
  carriedObject,
  carriedPrefix,
  withoutCarried,
} from './carried-annotations.js'
import { fromOldForm, toOldForm } from './metric-forms.js'
import type { Metric } from './metrics.js'

const isCpuUtilization = (m: Metric): boolean =>
  m.type === 'Resource' &&
  m.resource?.name === 'cpu' &&
  m.resource.target?.averageUtilization !== undefined

const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)
/** Go's names, which a type without tags has in JSON. */
const withGoNames = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withGoNames)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [pascal(key), withGoNames(item)]),
  )
}

/** In the internal form's order, with every field: upstream writes the Go struct. */
const behaviorText = (behavior: Metric): string => {
  const rules = (of: Metric | undefined) =>
    of === undefined
      ? null
      : {
          stabilizationWindowSeconds: of.stabilizationWindowSeconds ?? null,
          selectPolicy: of.selectPolicy ?? null,
          policies: (of.policies ?? []).map((p: Metric) => ({
            type: p.type,
            value: p.value,
            periodSeconds: p.periodSeconds,
          })),
          tolerance: of.tolerance ?? null,
        }
  const { scaleUp, scaleDown } = behavior
  return stringify(withGoNames({ scaleUp: rules(scaleUp), scaleDown: rules(scaleDown) }))
}

const conditionText = (conditions: Metric[]): string =>
  stringify(
    conditions.map(({ type, status, lastTransitionTime, reason, message }) => ({
      type,
      status,
      lastTransitionTime: lastTransitionTime ?? null,
      reason,
      message,
    })),
  )

const annotationsOf = ({ spec, status }: KubeObject): Partial<Record<CarriedKey, string>> => {
  const metrics: Metric[] = spec?.metrics ?? []
  const others = metrics.filter((metric) => !isCpuUtilization(metric))
  const current: Metric[] = status?.currentMetrics ?? []
  const conditions: Metric[] = status?.conditions ?? []
  return {
    ...(spec?.behavior ? { behavior: behaviorText(spec.behavior) } : {}),
    ...(conditions.length > 0 ? { conditions: conditionText(conditions) } : {}),
    ...(current.length > 0
      ? { 'current-metrics': stringify(current.map((m) => toOldForm(m, 'current'))) }
      : {}),
    ...(others.length > 0 ? { metrics: stringify(others.map((m) => toOldForm(m, 'target'))) } : {}),
  }
}

/** What an object of v1 was made from. Upstream prints the internal form, whose metrics are in the order of v2. */
const storedForms = new WeakMap<KubeObject, KubeObject>()

const fromV2 = (object: KubeObject): KubeObject => {
  const { metrics = [], behavior: _carried, ...spec } = object.spec ?? {}
  const { currentMetrics, conditions: _annotated, ...status } = object.status ?? {}
  const annotations = Object.fromEntries(
    Object.entries(annotationsOf(object)).map(([key, text]) => [carriedPrefix + key, text]),
  )
  const target = metrics.find(isCpuUtilization)?.resource.target.averageUtilization
  const current = (currentMetrics ?? []).find(
    (m: Metric) =>
      m.type === 'Resource' &&
      m.resource?.name === 'cpu' &&
      m.resource.current?.averageUtilization !== undefined,
  )?.resource.current.averageUtilization
  const all = { ...object.metadata.annotations, ...annotations }
  const shown = inGoOrder('autoscaling.v1.HorizontalPodAutoscaler', {
    ...object,
    apiVersion: 'autoscaling/v1',
    metadata:
      Object.keys(all).length === 0 ? object.metadata : { ...object.metadata, annotations: all },
    spec: {
      ...spec,
      ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }),
    },
    status: {
      currentReplicas: 0,
      desiredReplicas: 0,
      ...status,
      ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }),
    },
  })
  storedForms.set(shown, object)
  return shown
}

const cpu = (which: 'target' | 'current', percent: number): Metric => ({
  type: 'Resource',
  resource: {
    name: 'cpu',
    [which]: {
      ...(which === 'target' ? { type: 'Utilization' } : {}),
      averageUtilization: percent,
    },
  },
})

/** What v2 has by default: upstream's conversion writes it, as only that knows of the metrics in the annotation. */
const defaultUtilization = 80

const toV2 = (object: KubeObject): KubeObject => {
  const { targetCPUUtilizationPercentage: target, ...spec } = object.spec ?? {}
  const { currentCPUUtilizationPercentage: current, ...status } = object.status ?? {}
  // v2 does not write a zero.
  if (status.currentReplicas === 0) delete status.currentReplicas
  const given = object.metadata.annotations ?? {}
  const text = (key: CarriedKey): string | undefined => given[carriedPrefix + key]
  const others = carriedList(text('metrics'), 'autoscaling.v1.MetricSpec') ?? []
  const metrics = others.map((m) => fromOldForm(m, 'target'))
  if (target !== undefined) metrics.push(cpu('target', target))
  if (metrics.length === 0) metrics.push(cpu('target', defaultUtilization))
  const behavior = carriedObject(text('behavior'), 'autoscaling.v2.HorizontalPodAutoscalerBehavior')
  const hasBehavior = behavior !== undefined && Object.keys(behavior).length > 0
  // They have more to say than the percentage.
  const seen =
    carriedList(text('current-metrics'), 'autoscaling.v1.MetricStatus')?.map((m) =>
      fromOldForm(m, 'current'),
    ) ?? (current === undefined ? [] : [cpu('current', current)])
  const conditions =
    carriedList(text('conditions'), 'autoscaling.v2.HorizontalPodAutoscalerCondition') ?? []
  const annotations = withoutCarried(given)
  const { annotations: _split, ...metadata } = object.metadata
  return {
    ...object,
    apiVersion: 'autoscaling/v2',
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    spec: { ...spec, metrics, ...(hasBehavior ? { behavior } : {}) },
    status: {
      ...status,
      currentMetrics: seen.length === 0 ? null : seen,
      ...(conditions.length === 0 ? {} : { conditions }),
    },
  }
}

export default defineKind({
  group: 'autoscaling',
  version: 'v1',
  kind: 'HorizontalPodAutoscaler',
  storageVersion: { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
  convert: { toStorage: toV2, fromStorage: fromV2 },
  fieldAnnotations: carriedKeys.map((key) => carriedPrefix + key),
  // That of a bookmark was made from nothing, and upstream makes it without a conversion.
  cells: (object, now) => horizontalPodAutoscalerCells(storedForms.get(object) ?? object, now),
  strategy: {
    metadataRevalidation: 'change',
    default: ({ spec }) => {
      if (spec) spec.minReplicas ??= 1
    },
  },
  sample: {
    metadata: { name: 'sample-v1' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'sample' },
      maxReplicas: 3,
    },
  },
})
