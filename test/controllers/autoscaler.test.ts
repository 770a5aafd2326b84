/** Autoscalers that meet; seen with kube-controller-manager 1.36. */
import { once } from 'node:events'
import t from 'tap'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'
import {
  type HorizontalPodAutoscaler,
  tolerancesOf,
} from '#controllers/podautoscaler/autoscaler.js'
import { fetchResourceSamples } from '#controllers/podautoscaler/resource-metrics.js'
import { eventually } from '../eventually.js'
import { clientOf, startServer } from '../server/start-server.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { manage, startControllers } from './in-process.js'

const namespace = 'default'
const labels = { app: 'web' }

t.test('two autoscalers of the same Pods size nothing until one is gone', async (t) => {
  const client = await clientOf(t, await startServer(t))
  manage(t, client, {
    controllers: ['horizontal-pod-autoscaler-controller', 'serviceaccount-controller'],
    settings: { autoscalerPeriodMs: 100 },
  })
  await untilPodsAreLetIn(client, namespace)
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const make = async (name: string) => {
    await client.create(resources.deployments, {
      metadata: { name, namespace },
      spec: { replicas: 1, selector: { matchLabels: labels }, template },
    })
    await client.create(resources.horizontalPodAutoscalers, {
      metadata: { name, namespace },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
    })
  }
  const status = async (name: string) =>
    (
      await client.get<HorizontalPodAutoscaler>(resources.horizontalPodAutoscalers, {
        namespace,
        name,
      })
    ).status
  const active = async (name: string) =>
    (await status(name))?.conditions?.find(({ type }) => type === 'ScalingActive')
  await make('a')
  await make('b')
  const isUnmeasured = async (name: string) =>
    (await active(name))?.reason === 'FailedGetResourceMetric'
  await until(async () => (await isUnmeasured('a')) && (await isUnmeasured('b')))
  t.pass('selectors that select no Pods are in the way of nobody')

  const pod = { metadata: { name: 'web-1', namespace, labels }, spec: template.spec }
  await client.create(resources.pods, pod)
  for (const name of ['a', 'b']) {
    await until(async () => (await active(name))?.reason === 'AmbiguousSelector')
    const message =
      'pods by selector app=web are controlled by multiple HPAs: [default/a default/b]'
    t.equal((await active(name))?.message, message)
    t.equal((await status(name))?.currentMetrics, null, 'no metric is looked at')
  }
  await client.delete(resources.horizontalPodAutoscalers, { namespace, name: 'b' })
  await until(() => isUnmeasured('a'))
  t.pass('the other goes on')
})

t.test('what was seen for an autoscaler that went meanwhile is not for the next one', async (t) => {
  const seen = new AbortController()
  const gone = new AbortController()
  const client = await startControllers(
    t,
    ['horizontal-pod-autoscaler-controller'],
    (real) => ({
      request: async (asked: Parameters<Client['request']>[0]) =>
        asked.path.startsWith('/apis/external.metrics.k8s.io/')
          ? { items: [{ value: '1' }] }
          : real.request(asked),
      get: async (...asked: Parameters<Client['get']>) => {
        const answer = await real.get(...asked)
        if (asked[2]?.subresource !== 'scale' || gone.signal.aborted) return answer
        seen.abort()
        await once(gone.signal, 'abort')
        return answer
      },
    }),
    {},
    { autoscalerPeriodMs: 100 },
  )
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const at = { namespace, name: 'w' }
  await client.create(resources.deployments, {
    metadata: at,
    spec: { replicas: 5, selector: { matchLabels: labels }, template },
  })
  const target = { type: 'AverageValue', averageValue: '10' }
  const make = () =>
    client.create(resources.horizontalPodAutoscalers, {
      metadata: at,
      spec: {
        maxReplicas: 9,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: at.name },
        metrics: [{ type: 'External', external: { metric: { name: 'queue' }, target } }],
      },
    })
  await make()
  if (!seen.signal.aborted) await once(seen.signal, 'abort')
  await client.delete(resources.horizontalPodAutoscalers, at)
  await client.patch(resources.deployments, at, { spec: { replicas: 2 } }, { type: 'merge' })
  await make()
  gone.abort()
  const status = await eventually('a size', async () => {
    const hpa = await client.get<HorizontalPodAutoscaler>(resources.horizontalPodAutoscalers, at)
    return hpa.status?.currentMetrics != null && hpa.status
  })
  t.equal(status.desiredReplicas, 2)
})

t.test('a tolerance is any quantity', (t) => {
  const up = (tolerance?: string) => {
    const behavior = { scaleUp: { tolerance } }
    return tolerancesOf({ spec: { behavior } } as unknown as HorizontalPodAutoscaler, 0.1).up
  }
  t.same([up('50m'), up('100u'), up('1k'), up('0'), up()], [0.05, 0.0001, 1000, 0, 0.1])
  t.end()
})

const samplesOf = (timestamp: string | null, resource: string) => {
  const containers = [{ name: 'c', usage: { cpu: '1' } }]
  const items = [{ metadata: { name: 'p' }, timestamp, window: '30s', containers }]
  const client = { list: async () => ({ items }) } as unknown as Client
  return fetchResourceSamples({ client, namespace, labelSelector: '', resource })
}

t.test('a resource named as what every object has is one that no Pod has', async (t) => {
  t.equal((await samplesOf('', 'constructor')).size, 0)
})

t.test('a figure of no time is older than any Pod', async (t) => {
  t.ok((await samplesOf(null, 'cpu')).get('p')!.atMs < 0)
})
