import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { KubeObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { otherAddress, sendJson, startAggregatedApi } from '#test/server/aggregated-api.js'
import { type Cluster, pretendNode, startCluster, until } from './cluster.js'

const namespace = 'shop'
const custom = 'custom.metrics.k8s.io'
const external = 'external.metrics.k8s.io'

const deployment = (name: string) => ({
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
})

const autoscaler = (name: string, metric: object) => ({
  metadata: { name, namespace },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
    maxReplicas: 10,
    metrics: [metric],
  },
})

/** What an operator would measure, by the path below the namespace. */
type Figures = Record<string, () => Promise<object[]>>

const serveFigures =
  (asked: Set<string>, figures: Figures) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'https://figures')
    const [, root, group, version, , , ...rest] = url.pathname.split('/')
    if (root === 'apis' && rest.length === 0)
      return sendJson(
        response,
        version === undefined
          ? { kind: 'Status', code: 404 }
          : { kind: 'APIResourceList', groupVersion: `${group}/${version}`, resources: [] },
        version === undefined ? 404 : 200,
      )
    const path = decodeURIComponent(rest.join('/'))
    asked.add(`${path}${decodeURIComponent(url.search)}`)
    // Who still asks when the test is over gets none.
    const items = await figures[path]?.().catch(() => undefined)
    if (items === undefined) return sendJson(response, { message: 'no such metric' }, 404)
    return sendJson(response, { kind: 'List', metadata: {}, items })
  }

const registerFigures = async (
  { client }: Cluster,
  { port, caPem }: { port: number; caPem: string },
): Promise<void> => {
  const at = { name: 'figures', namespace: 'default' }
  await client.create(resources.services, { metadata: at, spec: { ports: [{ port: 443 }] } })
  await client.create(resources.endpointSlices, {
    metadata: { ...at, labels: { 'kubernetes.io/service-name': at.name } },
    addressType: 'IPv4',
    ports: [{ port }],
    endpoints: [{ addresses: [otherAddress()] }],
  })
  for (const [group, version] of [
    [custom, 'v1beta2'],
    [external, 'v1beta1'],
  ])
    await client.create(resources.apiServices, {
      metadata: { name: `${version}.${group}` },
      spec: {
        ...{ group, version, groupPriorityMinimum: 100, versionPriority: 100 },
        ...{ service: at, caBundle: Buffer.from(caPem).toString('base64') },
      },
    })
}

const conditionIs = async (client: Client, name: string, reason: string): Promise<KubeObject> => {
  let hpa: KubeObject | undefined
  await until(async () => {
    hpa = await client.get(resources.horizontalPodAutoscalers, { namespace, name })
    const active = conditionOf(hpa as unknown as Pod, 'ScalingActive')
    return active?.reason === reason
  })
  return hpa!
}

const activeOf = (hpa: KubeObject) => conditionOf(hpa as unknown as Pod, 'ScalingActive')

t.test(
  'an autoscaler goes by metrics of Pods, of other objects and from outside',
  { skip: otherAddress() === undefined && 'this machine has loopback addresses only' },
  async (t: Test) => {
    const cluster = await startCluster(t)
    const { client } = cluster
    const asked = new Set<string>()
    const figures: Figures = {
      'pods/*/requests': async () => {
        const { items } = await client.list(resources.pods, { namespace, labelSelector: 'app=web' })
        return items.map(({ metadata: { name } }) => ({
          describedObject: { kind: 'Pod', namespace, name },
          metric: { name: 'requests' },
          timestamp: new Date().toISOString(),
          // What comes in is shared.
          value: String(Math.ceil(30 / items.length)),
        }))
      },
      'services/front/hits': async () => [
        { describedObject: { name: 'front' }, timestamp: new Date().toISOString(), value: '4k' },
      ],
      queue: async () => [
        { metricName: 'queue', timestamp: new Date().toISOString(), value: '30' },
        { metricName: 'queue', timestamp: new Date().toISOString(), value: '12500m' },
      ],
    }
    await cluster.createNamespace(namespace)
    await pretendNode(t, client, 'n1')
    cluster.spawn('scheduler')
    cluster.spawn('controller-manager', '--horizontal-pod-autoscaler-sync-period=300ms')

    const pods = {
      type: 'Pods',
      pods: { metric: { name: 'requests' }, target: { type: 'AverageValue', averageValue: '10' } },
    }
    const describedObject = { apiVersion: 'v1', kind: 'Service', name: 'front' }
    const object = {
      type: 'Object',
      object: { describedObject, metric: { name: 'hits' }, target: { type: 'Value', value: '2k' } },
    }
    const metric = { name: 'queue', selector: { matchLabels: { kind: 'mail' } } }
    const target = { type: 'AverageValue', averageValue: '10' }
    const metrics = {
      web: pods,
      shown: object,
      mailer: { type: 'External', external: { metric, target } },
    }
    for (const [name, one] of Object.entries(metrics)) {
      await client.create(resources.deployments, deployment(name))
      await client.create(resources.horizontalPodAutoscalers, autoscaler(name, one))
    }

    const unable = 'the HPA was unable to compute the replica count: unable to get'
    t.equal(
      activeOf(await conditionIs(client, 'web', 'FailedGetPodsMetric'))?.message,
      `${unable} metric requests: unable to fetch metrics from custom metrics API: no custom metrics API (${custom}) registered`,
    )
    t.equal(
      activeOf(await conditionIs(client, 'shown', 'FailedGetObjectMetric'))?.message,
      `${unable} metric hits: Service on ${namespace} front/unable to fetch metrics from custom metrics API: no custom metrics API (${custom}) registered`,
    )
    t.equal(
      activeOf(await conditionIs(client, 'mailer', 'FailedGetExternalMetric'))?.message,
      `${unable} external metric ${namespace}/queue/&LabelSelector{MatchLabels:map[string]string{kind: mail,},MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.${external})`,
    )

    const api = await startAggregatedApi(t, 'figures.default.svc', serveFigures(asked, figures))
    await registerFigures(cluster, api)
    const hasReplicas = async (name: string, replicas: number): Promise<KubeObject> => {
      await until(async () => {
        const { spec, status } = await client.get(resources.deployments, { namespace, name })
        return spec.replicas === replicas && status.readyReplicas === replicas
      })
      return conditionIs(client, name, 'ValidMetricFound')
    }
    const web = await hasReplicas('web', 3)
    t.match(web.status.currentMetrics, [{ type: 'Pods', pods: { metric: { name: 'requests' } } }])
    t.ok(asked.has('pods/*/requests?labelSelector=app=web'))

    const mailer = await hasReplicas('mailer', 5)
    t.equal(
      activeOf(mailer)?.message,
      'the HPA was able to successfully calculate a replica count from external metric queue(&LabelSelector{MatchLabels:map[string]string{kind: mail,},MatchExpressions:[]LabelSelectorRequirement{},})',
    )
    await until(async () => {
      const hpa = await conditionIs(client, 'mailer', 'ValidMetricFound')
      return hpa.status.currentMetrics[0].external.current.averageValue === '8500m'
    })
    t.ok(asked.has('queue?labelSelector=kind=mail'))

    // A value that no Pod makes smaller: it doubles until nothing more may come.
    const shown = await hasReplicas('shown', 10)
    t.match(shown.status.currentMetrics, [
      { type: 'Object', object: { current: { value: '4k' }, describedObject } },
    ])
    t.match(activeOf(shown)?.message, / from Service metric hits$/)
  },
)
