/** A HorizontalPodAutoscaler's row, read from its v2 form. Rule: kubernetes pkg/printers formatHPAMetrics. */
import { age, type Cells } from './format.js'

interface MetricValues {
  value?: string
  averageValue?: string
  averageUtilization?: number
}
interface Metric {
  name?: string
  target?: MetricValues
  current?: MetricValues
}
interface MetricSource {
  type: string
  [source: string]: Metric | string | undefined
}

const sourceOf = (entry: MetricSource | undefined): Metric | undefined => {
  if (!entry) return undefined
  const field = entry.type.charAt(0).toLowerCase() + entry.type.slice(1)
  return entry[field] as Metric | undefined
}

const formatResource = (spec: Metric, current: MetricValues | undefined): string => {
  if (spec.target?.averageValue !== undefined)
    return `${spec.name}: ${current?.averageValue ?? '<unknown>'}/${spec.target.averageValue}`
  const percent = (n: number | undefined, otherwise: string): string =>
    n === undefined ? otherwise : `${n}%`
  return `${spec.name}: ${percent(current?.averageUtilization, '<unknown>')}/${percent(spec.target?.averageUtilization, '<auto>')}`
}

const formatMetric = (entry: MetricSource, status: MetricSource | undefined): string => {
  const spec = sourceOf(entry) ?? {}
  const current = sourceOf(status)?.current
  switch (entry.type) {
    case 'Resource':
    case 'ContainerResource':
      return formatResource(spec, current)
    case 'Pods':
      return `${current?.averageValue ?? '<unknown>'}/${spec.target?.averageValue}`
    case 'Object':
    case 'External':
      return spec.target?.averageValue !== undefined
        ? `${current?.averageValue ?? '<unknown>'}/${spec.target.averageValue} (avg)`
        : `${current?.value ?? '<unknown>'}/${spec.target?.value}`
    default:
      return '<unknown type>'
  }
}

export const horizontalPodAutoscalerCells: Cells = (object, now) => {
  const { spec = {}, status = {} } = object
  const metrics: MetricSource[] = spec.metrics ?? []
  const texts = metrics.map((metric, i) => formatMetric(metric, status.currentMetrics?.[i]))
  const shown = texts.slice(0, 2).join(', ')
  return [
    object.metadata.name,
    `${spec.scaleTargetRef?.kind}/${spec.scaleTargetRef?.name}`,
    texts.length === 0
      ? '<none>'
      : texts.length > 2
        ? `${shown} + ${texts.length - 2} more...`
        : shown,
    spec.minReplicas === undefined ? '<unset>' : String(spec.minReplicas),
    spec.maxReplicas ?? 0,
    status.currentReplicas ?? 0,
    age(object, now),
  ]
}
