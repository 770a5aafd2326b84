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

/** The source that the metric's type names, of a specification or of the status beside it, whose own type is not asked. */
const sourceOf = (entry: MetricSource | undefined, type: string): Metric | undefined =>
  entry?.[type.charAt(0).toLowerCase() + type.slice(1)] as Metric | undefined

const unknown = '<unknown>'
/** A quantity that is missing is printed as Go prints a pointer to none. */
const nil = '<nil>'

const formatResource = (spec: Metric, status: Metric | undefined): string => {
  const wanted = spec.target?.averageValue
  if (wanted !== undefined)
    return `${spec.name}: ${status ? (status.current?.averageValue ?? nil) : unknown}/${wanted}`
  const percent = (n: number | undefined, otherwise: string): string =>
    n === undefined ? otherwise : `${n}%`
  const [now, target] = [status?.current?.averageUtilization, spec.target?.averageUtilization]
  return `${spec.name}: ${percent(now, unknown)}/${percent(target, '<auto>')}`
}

const formatMetric = (entry: MetricSource, beside: MetricSource | undefined): string => {
  const { target } = sourceOf(entry, entry.type) ?? {}
  const status = sourceOf(beside, entry.type)
  const wanted = target?.averageValue
  const average = status?.current?.averageValue
  switch (entry.type) {
    case 'Resource':
    case 'ContainerResource':
      return formatResource(sourceOf(entry, entry.type) ?? {}, status)
    case 'Pods':
      return `${status ? (average ?? nil) : unknown}/${wanted ?? nil}`
    case 'Object':
    case 'External':
      return wanted !== undefined
        ? `${average ?? unknown}/${wanted} (avg)`
        : `${status ? (status.current?.value ?? nil) : unknown}/${target?.value ?? nil}`
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
