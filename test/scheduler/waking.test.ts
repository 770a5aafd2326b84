import t from 'tap'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { startCluster, until } from '../controllers/cluster.js'
import { node } from './small-cluster.js'

const namespace = 'waking'
const near = (app: string) => [
  { labelSelector: { matchLabels: { app } }, topologyKey: 'kubernetes.io/hostname' },
]

t.test(
  'a Pod that fitted nowhere is tried again when its neighbours or its labels change',
  async (t) => {
    const { client, spawn, createNamespace } = await startCluster(t)
    await createNamespace(namespace)
    const { metadata, status } = node('n')
    await client.create(resources.nodes, { metadata: { name: 'n', labels: metadata.labels } })
    await client.patch(
      resources.nodes,
      { name: 'n' },
      { spec: { taints: null } },
      { type: 'merge' },
    )
    await client.patch(
      resources.nodes,
      { name: 'n' },
      { status },
      { type: 'merge', subresource: 'status' },
    )
    const make = (name: string, spec: object, labels = {}) =>
      client.create(resources.pods, {
        metadata: { name, namespace, labels },
        spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
      })
    const relabel = (name: string, app: string) =>
      client.patch(
        resources.pods,
        { namespace, name },
        { metadata: { labels: { app } } },
        { type: 'merge' },
      )
    const see = async (name: string) =>
      (await client.get<Pod>(resources.pods, { namespace, name }))!
    const isRefused = (name: string) =>
      until(async () =>
        (await see(name)).status.conditions?.some((c) => c.reason === 'Unschedulable'),
      )
    const isPlaced = (name: string) => until(async () => (await see(name)).spec.nodeName === 'n')
    spawn('scheduler')

    await make('friend', {
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near('db') },
      },
    })
    await isRefused('friend')
    await make('db', { nodeName: 'n' }, { app: 'db' })
    await isPlaced('friend')

    await make('foe', {
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near('db') },
      },
    })
    await isRefused('foe')
    await relabel('db', 'web')
    await isPlaced('foe')

    await make('first', {
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near('queue') },
      },
    })
    await isRefused('first')
    await relabel('first', 'queue')
    await isPlaced('first')
  },
)
