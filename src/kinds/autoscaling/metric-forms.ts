/**
 * Metrics in the form that annotations of autoscaling/v1 carry (kubernetes, pkg/apis/autoscaling/v1/conversion.go): every
 * source that a metric has is converted, whatever its type says.
 */

import { parseQuantity } from '#api/quantity.js'
import { withoutUndefined } from '#json/entries.js'
import type { Metric } from './metrics.js'

type Which = 'target' | 'current'

/** The old form has no pointers. */
const orZero = (value: string | undefined): string => value ?? '0'
const textOf = (value: string | undefined): string => value ?? ''

/** `Value`, of the field that `which` begins. */
const field = (which: Which, name: string): string => `${which}${name}`

interface Form {
  toOld(source: Metric, which: Which): Metric
  fromOld(old: Metric, which: Which): Metric
}

const identifier = (old: Metric, selector: Metric | undefined): Metric =>
  withoutUndefined({ name: old.metricName, selector })

const described = ({ kind, name, apiVersion }: Metric = {}): Metric =>
  withoutUndefined({ kind: textOf(kind), name: textOf(name), apiVersion })

const object: Form = {
  toOld: ({ describedObject, metric, ...source }, which) => ({
    target: described(describedObject),
    metricName: textOf(metric?.name),
    [field(which, 'Value')]: orZero(source[which]?.value),
    selector: metric?.selector,
    averageValue: source[which]?.averageValue,
  }),
  fromOld: (old, which) => {
    const { averageValue } = old
    const value = old[field(which, 'Value')]
    const isZero = parseQuantity(value).nano === 0n
    return {
      describedObject: old.target,
      [which]:
        which === 'current'
          ? { value, averageValue }
          : averageValue === undefined
            ? { type: 'Value', value }
            : { type: 'AverageValue', value: isZero ? undefined : value, averageValue },
      metric: identifier(old, old.selector),
    }
  },
}

const pods: Form = {
  toOld: ({ metric, ...source }, which) => ({
    metricName: textOf(metric?.name),
    [field(which, 'AverageValue')]: orZero(source[which]?.averageValue),
    selector: metric?.selector,
  }),
  fromOld: (old, which) => ({
    metric: identifier(old, old.selector),
    [which]: {
      type: which === 'target' ? 'AverageValue' : undefined,
      averageValue: old[field(which, 'AverageValue')],
    },
  }),
}

const resource: Form = {
  toOld: ({ name, ...source }, which) => {
    const average: string | undefined = source[which]?.averageValue
    return {
      name: textOf(name),
      [field(which, 'AverageUtilization')]: source[which]?.averageUtilization,
      [field(which, 'AverageValue')]: which === 'current' ? orZero(average) : average,
    }
  },
  fromOld: (old, which) => {
    const averageUtilization = old[field(which, 'AverageUtilization')]
    const averageValue = old[field(which, 'AverageValue')]
    return {
      name: old.name,
      [which]:
        which === 'current'
          ? { averageValue, averageUtilization }
          : {
              type: averageUtilization === undefined ? 'AverageValue' : 'Utilization',
              averageValue,
              averageUtilization,
            },
    }
  },
}

const containerResource: Form = {
  toOld: (source, which) => ({
    ...resource.toOld(source, which),
    container: textOf(source.container),
  }),
  fromOld: (old, which) => ({
    ...resource.fromOld(old, which),
    container: old.container,
  }),
}

const external: Form = {
  toOld: ({ metric, ...source }, which) => {
    const value: string | undefined = source[which]?.value
    return {
      metricName: textOf(metric?.name),
      metricSelector: metric?.selector,
      [field(which, 'Value')]: which === 'current' ? orZero(value) : value,
      [field(which, 'AverageValue')]: source[which]?.averageValue,
    }
  },
  fromOld: (old, which) => {
    const value = old[field(which, 'Value')]
    const averageValue = old[field(which, 'AverageValue')]
    return {
      metric: identifier(old, old.metricSelector),
      [which]:
        which === 'current'
          ? { value, averageValue }
          : { type: value === undefined ? 'AverageValue' : 'Value', value, averageValue },
    }
  },
}

/** In the order of Go's struct. */
const forms: Readonly<Record<string, Form>> = {
  object,
  pods,
  resource,
  containerResource,
  external,
}

const convert = (metric: Metric, change: (form: Form, source: Metric) => Metric): Metric => {
  const converted: Metric = { type: textOf(metric.type) }
  for (const [name, form] of Object.entries(forms)) {
    const source: Metric | undefined = metric[name]
    if (source) converted[name] = withoutUndefined(change(form, source))
  }
  return converted
}

/** `which` is target for specifications, current for statuses. An old form is one that was decoded: it has its zero values. */
export const toOldForm = (metric: Metric, which: Which): Metric =>
  convert(metric, (form, source) => form.toOld(source, which))

export const fromOldForm = (old: Metric, which: Which): Metric =>
  convert(old, (form, source) => {
    const metric = form.fromOld(source, which)
    return { ...metric, [which]: withoutUndefined(metric[which]) }
  })
