/** The metrics APIs of a cluster under play: what Pods use stands in their annotations, all else in a ConfigMap of their namespace. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { formatTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isAlreadyExists } from '#client/errors.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { otherAddress, sendJson, startAggregatedApi } from '../server/aggregated-api.js'

/** Of a metric, by its name. */
export const usageAnnotation = 'example.com/usage-of-'
export const figures = 'figures'

const groups = [
  ['metrics.k8s.io', 'v1beta1'],
  ['custom.metrics.k8s.io', 'v1beta2'],
  ['external.metrics.k8s.io', 'v1beta1'],
] as const

interface Asked {
  readonly group: string
  readonly namespace: string
  /** Below the namespace. */
  readonly path: readonly string[]
  readonly labelSelector: string
}

const usageOf = ({ metadata }: Pod): Record<string, string> =>
  Object.fromEntries(
    Object.entries(metadata.annotations ?? {})
      .filter(([key]) => key.startsWith(usageAnnotation))
      .map(([key, value]) => [key.slice(usageAnnotation.length), value]),
  )

/** Undefined: there is no such thing. */
const itemsOf = async (client: Client, asked: Asked): Promise<object[] | undefined> => {
  const { group, namespace, path, labelSelector } = asked
  const timestamp = formatTime(Date.now())
  const [resource, name, metric = resource] = path
  if (resource === 'pods' && (path.length === 1 || name === '*')) {
    const { items } = await client.list<Pod>(resources.pods, { namespace, labelSelector })
    const used = items
      .map((pod) => ({ pod, usage: usageOf(pod) }))
      .filter(({ usage }) => Object.keys(usage).length > 0)
    if (group === 'metrics.k8s.io')
      return used.map(({ pod, usage }) => ({
        metadata: { name: pod.metadata.name, namespace },
        ...{ timestamp, window: '1s' },
        containers: pod.spec.containers.map((container) => ({ name: container.name, usage })),
      }))
    return used
      .filter(({ usage }) => metric! in usage)
      .map(({ pod, usage }) => ({
        describedObject: { kind: 'Pod', namespace, name: pod.metadata.name, apiVersion: '/v1' },
        ...{ metric: { name: metric }, timestamp, value: usage[metric!] },
      }))
  }
  const at = { namespace, name: figures }
  const { data } = await client.get<PersistedObject & { data?: Record<string, string> }>(
    resources.configMaps,
    at,
  )
  const value = data?.[metric!]
  if (value === undefined) return undefined
  if (group === 'external.metrics.k8s.io')
    return [{ metricName: metric, metricLabels: {}, timestamp, value }]
  const describedObject = { kind: 'Service', namespace, name, apiVersion: '/v1' }
  return [{ describedObject, metric: { name: metric }, timestamp, value }]
}

const answer =
  (client: Client) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'https://metrics')
    const [, , group = '', version, , namespace = '', ...path] = url.pathname
      .split('/')
      .map(decodeURIComponent)
    const groupVersion = `${group}/${version}`
    if (namespace === '')
      return sendJson(response, { kind: 'APIResourceList', groupVersion, resources: [] })
    const labelSelector = url.searchParams.get('labelSelector') ?? ''
    const asked = { group, namespace, path, labelSelector }
    // A script that is over has neither.
    const items = await itemsOf(client, asked).catch(() => undefined)
    if (items === undefined)
      return sendJson(
        response,
        {
          ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404 },
          ...{ reason: 'NotFound', message: 'there is no such metric' },
        },
        404,
      )
    const kind = {
      'metrics.k8s.io': 'PodMetricsList',
      'custom.metrics.k8s.io': 'MetricValueList',
      'external.metrics.k8s.io': 'ExternalMetricValueList',
    }[group]
    return sendJson(response, { kind, apiVersion: groupVersion, metadata: {}, items })
  }

const ifExists = (error: unknown): void => {
  if (!isAlreadyExists(error)) throw error
}

/** Registered until the test is over: no namespace would go while a registered API does not answer. */
export const pretendMetrics = async (
  t: Parameters<typeof startAggregatedApi>[0],
  client: Client,
): Promise<void> => {
  const at = { name: 'pretended-metrics', namespace: 'default' }
  const { port } = await startAggregatedApi(t, `${at.name}.${at.namespace}.svc`, answer(client))
  await client
    .create(resources.services, { metadata: at, spec: { ports: [{ port: 443 }] } })
    .catch(ifExists)
  const endpoints = { ports: [{ port }], endpoints: [{ addresses: [otherAddress()] }] }
  await client
    .create(resources.endpointSlices, {
      metadata: { ...at, labels: { 'kubernetes.io/service-name': at.name } },
      ...{ addressType: 'IPv4', ...endpoints },
    })
    .catch(ifExists)
  await client.patch(resources.endpointSlices, at, endpoints, { type: 'merge' })
  for (const [group, version] of groups) {
    const name = `${version}.${group}`
    t.teardown(() => client.delete(resources.apiServices, { name }))
    await client
      .create(resources.apiServices, {
        metadata: { name },
        spec: {
          ...{ group, version, groupPriorityMinimum: 100, versionPriority: 100 },
          ...{ service: at, insecureSkipTLSVerify: true },
        },
      })
      .catch(ifExists)
  }
}
