/** Figures that operators serve: custom.metrics.k8s.io and external.metrics.k8s.io. Upstream: k8s.io/metrics/pkg/client. */
import { parseTime } from '#api/clock.js'
import { formatGroupKind, formatGroupResource, groupOf } from '#api/group-version.js'
import { formatLabelSelector } from '#api/label-selector.js'
import { parseMilli } from '#client/amount.js'
import type { Client } from '#client/client.js'
import { discoverKind } from '#client/discovery.js'
import { messageOf } from '#client/errors.js'
import { zeroTime } from '#go/zero-time.js'
import type { MetricIdentifier, ObjectReference } from './autoscaler.js'
import type { Sample } from './calculator.js'
import { clientMessage } from './metrics-error.js'

const customGroup = 'custom.metrics.k8s.io'
const externalGroup = 'external.metrics.k8s.io'
const knownVersions = [`${customGroup}/v1beta2`, `${customGroup}/v1beta1`]
/** Where a metric does not say; upstream's metricServerDefaultMetricWindow. */
const windowDefaultSeconds = 60

interface MetricValue {
  describedObject: { name: string }
  /** As Go writes a time that nobody gave: null. */
  timestamp: string | null
  value: string
  /** v1beta2. */
  windowSeconds?: number
  /** v1beta1. */
  window?: number
}
interface GroupVersion {
  groupVersion: string
}
interface Group {
  name: string
  versions: GroupVersion[]
  preferredVersion?: GroupVersion
}

interface CustomMetrics {
  readonly client: Client
  readonly namespace: string
}

/** `custom.metrics.k8s.io/v1beta2`. */
const customVersion = async (client: Client): Promise<string> => {
  const { groups } = await client.request<{ groups: Group[] }>({ method: 'GET', path: '/apis' })
  const group = groups.find(({ name }) => name === customGroup)
  if (group === undefined) throw new Error(`no custom metrics API (${customGroup}) registered`)
  const offered = [group.preferredVersion, ...group.versions].map((one) => one?.groupVersion ?? '')
  const version = offered.find((one) => knownVersions.includes(one))
  if (version === undefined) throw new Error('no known available metric versions found')
  return version
}

/** `pods`, `deployments.apps`. */
const resourceOf = async (client: Client, apiVersion: string, kind: string): Promise<string> => {
  try {
    return formatGroupResource(await discoverKind(client, { apiVersion, kind }))
  } catch (error) {
    const shown = formatGroupKind({ group: groupOf(apiVersion), kind })
    throw new Error(`unable to map kind ${shown} to resource: ${messageOf(error)}`)
  }
}

const selectorText = ({ selector }: MetricIdentifier): string | undefined =>
  selector === undefined ? undefined : formatLabelSelector(selector) || undefined

interface Asked {
  /** Below the namespace. */
  readonly resource: string
  readonly name: string
  readonly metric?: string
  readonly labelSelector?: string
  readonly metricLabelSelector?: string
}

const fetchCustom = async (
  { client, namespace }: CustomMetrics,
  version: string,
  { resource, name, metric, ...query }: Asked,
): Promise<MetricValue[]> => {
  const rest = [resource, name, ...(metric === undefined ? [] : [metric])]
  const path = ['namespaces', namespace, ...rest].map(encodeURIComponent).join('/')
  try {
    const { items } = await client.request<{ items?: MetricValue[] | null }>({
      method: 'GET',
      path: `/apis/${version}/${path}`,
      query,
    })
    return items ?? []
  } catch (error) {
    throw new Error(clientMessage(error, `${resource}.${customGroup} ${name}`))
  }
}

const unfetched =
  (which: 'custom' | 'external') =>
  (error: Error): never => {
    throw new Error(`unable to fetch metrics from ${which} metrics API: ${error.message}`)
  }

/** One metric of each Pod that is selected, by Pod name. Throws, in upstream's words, when there are none. */
export const fetchPodSamples = async (
  custom: CustomMetrics,
  metric: MetricIdentifier,
  labelSelector: string,
): Promise<Map<string, Sample>> => {
  const fetched = async (): Promise<MetricValue[]> =>
    fetchCustom(custom, await customVersion(custom.client), {
      resource: 'pods',
      name: '*',
      metric: metric.name,
      labelSelector,
      metricLabelSelector: selectorText(metric),
    })
  const items = await fetched().catch(unfetched('custom'))
  if (items.length === 0) throw new Error('no metrics returned from custom metrics API')
  return new Map(
    items.map(({ describedObject, timestamp, value, windowSeconds, window }) => [
      describedObject.name,
      {
        value: parseMilli(value),
        atMs: parseTime(timestamp ?? zeroTime),
        windowMs: (windowSeconds ?? window ?? windowDefaultSeconds) * 1000,
      },
    ]),
  )
}

/** A metric of one object, in thousandths. Of its own namespace when it names a Namespace. */
export const fetchObjectValue = async (
  custom: CustomMetrics,
  metric: MetricIdentifier,
  { apiVersion = '', kind, name }: ObjectReference,
): Promise<bigint> => {
  const metricLabelSelector = selectorText(metric)
  const fetched = async (): Promise<MetricValue[]> => {
    const version = await customVersion(custom.client)
    if (kind === 'Namespace' && groupOf(apiVersion) === '')
      return fetchCustom(custom, version, {
        resource: 'metrics',
        name: metric.name,
        metricLabelSelector,
      })
    const resource = await resourceOf(custom.client, apiVersion, kind)
    const asked = { resource, name, metric: metric.name, metricLabelSelector }
    return fetchCustom(custom, version, asked)
  }
  const one = async (): Promise<bigint> => {
    const items = await fetched()
    if (items.length !== 1)
      throw new Error(
        `the custom metrics API server returned ${items.length} results when we asked for exactly one`,
      )
    return parseMilli(items[0]!.value)
  }
  return one().catch(unfetched('custom'))
}

/** The sum of all values of a metric that belongs to no object, in thousandths. */
export const fetchExternalValue = async (
  { client, namespace }: CustomMetrics,
  metric: MetricIdentifier,
): Promise<bigint> => {
  const path = [namespace, metric.name].map(encodeURIComponent).join('/')
  const { items } = await client
    .request<{ items?: { value: string }[] | null }>({
      method: 'GET',
      path: `/apis/${externalGroup}/v1beta1/namespaces/${path}`,
      query: { labelSelector: selectorText(metric) },
    })
    .catch((error: unknown) =>
      unfetched('external')(new Error(clientMessage(error, `${metric.name}.${externalGroup}`))),
    )
  if (!items?.length) throw new Error('no metrics returned from external metrics API')
  return items.reduce((sum, { value }) => sum + parseMilli(value), 0n)
}
