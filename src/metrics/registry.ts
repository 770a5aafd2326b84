/** Metrics in prom-client's registry. Loaded when somebody scrapes, and prom-client with it. */
import { collectDefaultMetrics, Registry } from 'prom-client'
import { once } from '#async/once.js'
import type { HealthResults } from './health-results.js'
import type { HistogramFigures } from './histogram.js'
import type { MetricFamily, MetricLabels } from './metric-family.js'

type Value = { value: number; labels: Record<string, string>; metricName?: string }

const histogramValues = (
  name: string,
  labels: MetricLabels,
  { bounds, buckets, sum, count }: HistogramFigures,
): Value[] => {
  let below = 0
  const steps = bounds.map((bound, at) => {
    below += buckets[at]!
    return { value: below, labels: { ...labels, le: String(bound) }, metricName: `${name}_bucket` }
  })
  return [
    ...steps,
    { value: count, labels: { ...labels, le: '+Inf' }, metricName: `${name}_bucket` },
    { value: sum, labels: { ...labels }, metricName: `${name}_sum` },
    { value: count, labels: { ...labels }, metricName: `${name}_count` },
  ]
}

const valuesOf = (family: MetricFamily): Value[] =>
  family
    .values()
    .flatMap(({ labels, value }) =>
      typeof value === 'number'
        ? [{ labels: { ...labels }, value }]
        : histogramValues(family.name, labels, value),
    )

/** Its values are made when it is read. prom-client uses no more of a metric than this has. */
const registered = (family: MetricFamily) => {
  const { name, help, type } = family
  const get = async () => ({ name, help, type, values: valuesOf(family), aggregator: 'sum' })
  return { name, get }
}

const withFamilies = (registry: Registry, families: readonly MetricFamily[]): Registry => {
  for (const family of families) registry.registerMetric(registered(family) as never)
  return registry
}

/** Of this process, whatever servers it has: nobody could take back what is followed for them. */
const ofProcess = once(() => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
})

/** The registry of /metrics: the families, and those of the process. `disabled` are names of either to leave out. */
export const makeRegistry = (
  families: readonly MetricFamily[],
  disabled: readonly string[] = [],
): Registry => {
  const registry = withFamilies(Registry.merge([ofProcess()]), families)
  for (const name of disabled) registry.removeSingleMetric(name)
  return registry
}

/** The registry of /metrics/slis. */
export const makeHealthRegistry = ({ families }: HealthResults): Registry =>
  withFamilies(new Registry(), families)
