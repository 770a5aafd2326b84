/** Autoscalers that meet; seen with kube-controller-manager 1.36. */
import t from 'tap'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'
import {
  type HorizontalPodAutoscaler,
  tolerancesOf,
} from '#controllers/podautoscaler/autoscaler.js'
import { fetchResourceSamples } from '#controllers/podautoscaler/resource-metrics.js'
import { clientOf, startServer } from '../server/start-server.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { manage } from './in-process.js'

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

t.test('a tolerance is any quantity', (t) => {
  const up = (tolerance?: string) => {
    const behavior = { scaleUp: { tolerance } }
    return tolerancesOf({ spec: { behavior } } as unknown as HorizontalPodAutoscaler, 0.1).up
  }
  t.same([up('50m'), up('100u'), up('1k'), up('0'), up()], [0.05, 0.0001, 1000, 0, 0.1])
  t.end()
})

t.test('a resource named as what every object has is one that no Pod has', async (t) => {
  const items = [
    {
      metadata: { name: 'p' },
      timestamp: '',
      window: '30s',
      containers: [{ name: 'c', usage: {} }],
    },
  ]
  const client = { list: async () => ({ items }) } as unknown as Client
  const question = { client, namespace, labelSelector: '', resource: 'constructor' }
  t.equal((await fetchResourceSamples(question)).size, 0)
})
