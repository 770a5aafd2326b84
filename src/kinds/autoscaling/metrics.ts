/** Metric specifications of autoscalers: what they may be. */
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1123Label, pathSegmentName } from '#api/names.js'
import { parseQuantity } from '#api/quantity.js'
import { validPathSegment } from '#validation/formats.js'
import { validContainerResourceName } from '#validation/resource-name.js'

// biome-ignore lint/suspicious/noExplicitAny: five kinds of metric with fields of their own
export type Metric = Record<string, any>

const metricTypes = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource']
/** `Resource`, `resource`. */
const fieldOf = (type: string): string => type.charAt(0).toLowerCase() + type.slice(1)

const positiveQuantity = (path: string, value: string | undefined): FieldError[] =>
  value !== undefined && parseQuantity(value).nano <= 0n
    ? [invalid(path, value, 'must be positive')]
    : []

const targetErrors = (target: Metric = {}, path: string): FieldError[] => {
  const { type = '', averageUtilization, value, averageValue } = target
  return [
    ...(type === '' ? [required(child(path, 'type'), 'must specify a metric target type')] : []),
    ...(!['Utilization', 'Value', 'AverageValue'].includes(type)
      ? [invalid(child(path, 'type'), type, 'must be either Utilization, Value, or AverageValue')]
      : []),
    ...positiveQuantity(child(path, 'value'), value),
    ...positiveQuantity(child(path, 'averageValue'), averageValue),
    ...(averageUtilization !== undefined && averageUtilization < 1
      ? [invalid(child(path, 'averageUtilization'), averageUtilization, 'must be greater than 0')]
      : []),
  ]
}

/** Upstream does not look at the selector. */
const identifierErrors = ({ name = '' }: Metric = {}, path: string): FieldError[] =>
  name === ''
    ? [required(child(path, 'name'), 'must specify a metric name')]
    : pathSegmentName(name, false).map((m) => invalid(child(path, 'name'), name, m))

export const referenceErrors = (
  { kind = '', name = '', apiVersion }: Metric = {},
  path: string,
): FieldError[] => {
  const parts = (apiVersion ?? '').split('/')
  return [
    ...validPathSegment(child(path, 'kind'), kind),
    ...validPathSegment(child(path, 'name'), name),
    ...(parts.length > 2
      ? [
          invalid(
            child(path, 'apiVersion'),
            apiVersion,
            `unexpected GroupVersion string: ${apiVersion}`,
          ),
        ]
      : []),
  ]
}

/** What a resource's metric and a container's have in common. */
const resourceTargetErrors = (source: Metric, path: string): FieldError[] => {
  const target = child(path, 'target')
  const { averageUtilization, averageValue } = source.target ?? {}
  return [
    ...targetErrors(source.target, target),
    ...(averageUtilization === undefined && averageValue === undefined
      ? [
          required(
            child(target, 'averageUtilization'),
            'must set either a target raw value or a target utilization',
          ),
        ]
      : []),
    ...(averageUtilization !== undefined && averageValue !== undefined
      ? [
          forbidden(
            child(target, 'averageValue'),
            'may not set both a target raw value and a target utilization',
          ),
        ]
      : []),
  ]
}

const resourceNameMissing = (path: string): FieldError =>
  required(child(path, 'name'), 'must specify a resource name')

const sourceErrors: Readonly<Record<string, (source: Metric, path: string) => FieldError[]>> = {
  Object: (source, path) => [
    ...referenceErrors(source.describedObject, child(path, 'describedObject')),
    ...identifierErrors(source.metric, child(path, 'metric')),
    ...targetErrors(source.target, child(path, 'target')),
    ...(source.target?.value === undefined && source.target?.averageValue === undefined
      ? [
          required(
            child(path, 'target', 'averageValue'),
            'must set either a target value or averageValue',
          ),
        ]
      : []),
  ],
  External: (source, path) => {
    const { value, averageValue } = source.target ?? {}
    return [
      ...identifierErrors(source.metric, child(path, 'metric')),
      ...targetErrors(source.target, child(path, 'target')),
      ...(value === undefined && averageValue === undefined
        ? [
            required(
              child(path, 'target', 'averageValue'),
              'must set either a target value for metric or a per-pod target',
            ),
          ]
        : []),
      ...(value !== undefined && averageValue !== undefined
        ? [
            forbidden(
              child(path, 'target', 'value'),
              'may not set both a target value for metric and a per-pod target',
            ),
          ]
        : []),
    ]
  },
  Pods: (source, path) => {
    const average = source.target?.averageValue
    return [
      ...identifierErrors(source.metric, child(path, 'metric')),
      ...targetErrors(source.target, child(path, 'target')),
      ...(average === undefined
        ? [
            required(
              child(path, 'target', 'averageValue'),
              'must specify a positive target averageValue',
            ),
          ]
        : []),
    ]
  },
  Resource: (source, path) => [
    ...(source.name ? [] : [resourceNameMissing(path)]),
    ...resourceTargetErrors(source, path),
  ],
  ContainerResource: (source, path) => [
    ...(source.name
      ? validContainerResourceName(child(path, 'name'), source.name)
      : [resourceNameMissing(path)]),
    ...(source.container
      ? isDns1123Label(source.container).map((m) =>
          invalid(child(path, 'container'), source.container, m),
        )
      : [required(child(path, 'container'), 'must specify a container')]),
    ...resourceTargetErrors(source, path),
  ],
}

/** The first source given is checked, in upstream's order, whatever the type says. */
export const metricErrors = (metric: Metric, path: string): FieldError[] => {
  const type: string = metric.type ?? ''
  const unsupported = notSupported(child(path, 'type'), type, metricTypes)
  const isKnown = metricTypes.includes(type)
  const own = fieldOf(type)
  const present = Object.keys(sourceErrors).filter((name) => metric[fieldOf(name)] !== undefined)
  const [first] = present
  return [
    ...(type === '' ? [required(child(path, 'type'), 'must specify a metric source type')] : []),
    ...(isKnown ? [] : [unsupported]),
    ...(first === undefined
      ? []
      : sourceErrors[first]!(metric[fieldOf(first)], child(path, fieldOf(first)))),
    // Upstream says it twice: as it begins, and where it looks for the source of the type.
    ...(isKnown ? [] : [unsupported]),
    ...(isKnown && !present.includes(type)
      ? [required(child(path, own), 'must populate information for the given metric source')]
      : []),
    ...(present.length === 1 ? [] : present)
      .filter((name) => name !== type)
      .map((name) =>
        forbidden(child(path, fieldOf(name)), 'must populate the given metric source only'),
      ),
  ]
}
