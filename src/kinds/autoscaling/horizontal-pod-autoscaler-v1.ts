/**
 * autoscaling/v1 knows one metric, the utilization of CPU; everything else of an autoscaler is carried in annotations
 * (kubernetes, pkg/apis/autoscaling/v1/conversion.go).
 */
import type { KubeObject } from '#api/object.js'
import { inGoOrder } from '#registry/decode/go-order.js'
import { defineKind } from '#registry/resource-definition.js'
import { horizontalPodAutoscalerCells } from '../table/autoscaler-cells.js'
import {
  type CarriedKey,
  carriedKeys,
  carriedPrefix,
  withoutCarried,
} from './carried-annotations.js'
import { fromOldForm, toOldForm } from './metric-forms.js'
import { fieldOf, type Metric } from './metrics.js'

const isCpuUtilization = (m: Metric): boolean =>
  m.type === 'Resource' &&
  m.resource?.name === 'cpu' &&
  m.resource.target?.averageUtilization !== undefined

const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)
const renameKeys = (value: unknown, rename: (name: string) => string): unknown => {
  if (Array.isArray(value)) return value.map((item) => renameKeys(item, rename))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => rename === pascal || v !== null)
      .map(([key, v]) => [rename(key), renameKeys(v, rename)]),
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
  return JSON.stringify(
    renameKeys({ scaleUp: rules(scaleUp), scaleDown: rules(scaleDown) }, pascal),
  )
}

const conditionText = (conditions: Metric[]): string =>
  JSON.stringify(
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
      ? { 'current-metrics': JSON.stringify(current.map((m) => toOldForm(m, 'current'))) }
      : {}),
    ...(others.length > 0
      ? { metrics: JSON.stringify(others.map((m) => toOldForm(m, 'target'))) }
      : {}),
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

const parsed = (text: string | undefined): Metric[] | Metric | undefined => {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    // Upstream ignores what it cannot read.
    return undefined
  }
}

/** A list out of an annotation; empty if the annotation holds none. */
const listed = (text: string | undefined): Metric[] => {
  const value = parsed(text)
  return Array.isArray(value) ? value : []
}

const toV2 = (object: KubeObject): KubeObject => {
  const { targetCPUUtilizationPercentage: target, ...spec } = object.spec ?? {}
  const { currentCPUUtilizationPercentage: current, ...status } = object.status ?? {}
  // v2 does not write a zero.
  if (status.currentReplicas === 0) delete status.currentReplicas
  const given = object.metadata.annotations ?? {}
  const annotations = withoutCarried(given)
  const read = (key: CarriedKey) => parsed(given[carriedPrefix + key])
  const list = (key: CarriedKey): Metric[] => listed(given[carriedPrefix + key])
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
  const others = list('metrics').map((m) => fromOldForm(m, 'target'))
  const seen = list('current-metrics').map((m) => fromOldForm(m, 'current'))
  const behavior = renameKeys(read('behavior'), fieldOf)
  const conditions = read('conditions')
  const currentMetrics =
    seen.length > 0 ? seen : current === undefined ? null : [cpu('current', current)]
  const { annotations: _split, ...metadata } = object.metadata
  return {
    ...object,
    apiVersion: 'autoscaling/v2',
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    spec: {
      ...spec,
      metrics: [...others, ...(target === undefined ? [] : [cpu('target', target)])],
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: { ...status, currentMetrics, ...(conditions === undefined ? {} : { conditions }) },
  }
}

export default defineKind({
  group: 'autoscaling',
  version: 'v1',
  kind: 'HorizontalPodAutoscaler',
  storageVersion: { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
  convert: { toStorage: toV2, fromStorage: fromV2 },
  fieldAnnotations: carriedKeys.map((key) => carriedPrefix + key),
  cells: (object, now) =>
    horizontalPodAutoscalerCells(storedForms.get(object) ?? toV2(object), now),
  strategy: {
    metadataRevalidation: 'change',
    default: ({ metadata, spec }) => {
      if (!spec) return
      spec.minReplicas ??= 1
      const carried = listed(metadata?.annotations?.[`${carriedPrefix}metrics`])
      if (spec.targetCPUUtilizationPercentage === undefined && carried.length === 0)
        spec.targetCPUUtilizationPercentage = 80
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
