import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { CsiNode } from '#client/csi-objects.js'
import type { Pod } from '#client/pod.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { concernedBy, helpedBy, takesMoreVolumes } from '#scheduler/waking-changes.js'
import { startCluster, until } from '../controllers/cluster.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'
import { storedMetadata } from '../stored-metadata.js'
import { scheduleLater } from './device-cluster.js'
import { node, pod, viewOf } from './small-cluster.js'

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

interface PodEvent extends PersistedObject {
  regarding: { name: string }
  reason: string
  note: string
  series?: object
}
const eventsOf = async (client: Client, name: string): Promise<PodEvent[]> => {
  const { items } = await client.list<PodEvent>(resources.events, { namespace: 'default' })
  return items.filter(({ regarding }) => regarding.name === name)
}

t.test('where there is no node any change is one, and so is what the Pod is told', async (t) => {
  const { run, begin } = scheduleLater()
  const options = { disableAdmissionPlugins: ['ServiceAccount'] }
  const client = await startBeside(t, run, undefined, options)
  begin()
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  })
  const told = await eventually('it is told once more', async () => {
    const events = await eventsOf(client, 'p')
    return events.length > 1 && events
  })
  const note = 'no nodes available to schedule pods'
  t.match(told, [{ note }, { note }])
})

t.test('room that is left wakes nobody whom no node refused for lack of it', async (t) => {
  const { run, begin } = scheduleLater()
  const options = { disableAdmissionPlugins: ['ServiceAccount'] }
  const client = await startBeside(t, run, undefined, options)
  const capacity = { cpu: '1', memory: '8Gi', pods: '10' }
  await client.create(resources.nodes, {
    metadata: { name: 'n' },
    status: { capacity, allocatable: capacity },
  })
  begin()
  const place = { namespace: 'default' }
  const make = (name: string, spec: object) =>
    client.create(resources.pods, {
      metadata: { name, ...place },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
        tolerations: [{ operator: 'Exists' }],
        terminationGracePeriodSeconds: 0,
        ...spec,
      },
    })
  await make('first', { nodeName: 'n' })
  for (const [name, spec] of [
    ['elsewhere', { nodeSelector: { place: 'elsewhere' } }],
    ['next', {}],
  ] as const) {
    await make(name, spec)
    await eventually('it is told', async () => (await eventsOf(client, name)).length > 0)
  }
  await client.delete(resources.pods, { name: 'first', ...place })
  await eventually('it has the room', async () => {
    const { spec } = await client.get<Pod>(resources.pods, { name: 'next', ...place })
    return spec.nodeName === 'n'
  })
  // It would have been tried before this one, which is younger.
  await make('last', {})
  await eventually('it is told', async () => (await eventsOf(client, 'last')).length > 0)
  const told = await eventsOf(client, 'elsewhere')
  t.match(told, [{ series: undefined }])
  t.equal(told.length, 1)
})

t.test(
  'what goes before it has a node is told so, and wakes nobody, nor do claims of others',
  async (t) => {
    const { run, begin } = scheduleLater()
    const client = await startBeside(t, run, undefined, {
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const grow = (cpu: string) =>
      client.patch(
        resources.nodes,
        { name: 'n' },
        { status: { allocatable: { cpu } } },
        { type: 'merge', subresource: 'status' },
      )
    const capacity = { cpu: '1', memory: '8Gi', pods: '10' }
    await client.create(resources.nodes, {
      metadata: { name: 'n' },
      status: { capacity, allocatable: capacity },
    })
    begin()
    const namespace = 'default'
    for (const [name, finalizers] of [
      ['held', ['example.com/held']],
      ['gone', []],
      ['stays', []],
    ] as const) {
      await client.create(resources.pods, {
        metadata: { name, namespace, finalizers: [...finalizers] },
        spec: {
          containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '2' } } }],
          tolerations: [{ operator: 'Exists' }],
          terminationGracePeriodSeconds: 0,
        },
      })
      await eventually('it is told', async () => (await eventsOf(client, name)).length > 0)
    }
    for (const name of ['held', 'gone']) await client.delete(resources.pods, { name, namespace })
    const storage = { storageClassName: 'c', accessModes: ['ReadWriteOnce'] }
    await client.create(resources.persistentVolumeClaims, {
      metadata: { name: 'of-others', namespace },
      spec: { ...storage, resources: { requests: { storage: '1Gi' } } },
    })
    await client.create(resources.persistentVolumes, {
      metadata: { name: 'of-others' },
      spec: { ...storage, capacity: { storage: '1Gi' }, hostPath: { path: '/v' } },
    })
    await client.create(resources.resourceClaims, {
      metadata: { name: 'of-others', namespace },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'd' } }] } },
    })
    await grow('3')
    const told = await eventually('those that wait are told', async () => {
      const all = await Promise.all(['held', 'stays'].map((name) => eventsOf(client, name)))
      return all.every((events) => events.length > 1) && all
    })
    t.match(
      told.map((events) => events.map(({ reason, note }) => [reason, note]).sort()),
      [
        [
          ['FailedScheduling', /^0\/1 nodes/],
          ['FailedScheduling', 'skip schedule deleting pod: default/held'],
        ],
        [
          ['FailedScheduling', /^0\/1 nodes/],
          ['Scheduled', 'Successfully assigned default/stays to n'],
        ],
      ],
    )
    t.strictSame(
      [...told.flat(), ...(await eventsOf(client, 'gone'))].filter(
        ({ series, regarding: { name }, note }) =>
          series !== undefined || (name === 'gone' && note.startsWith('skip')),
      ),
      [],
      'nothing was tried twice for nothing',
    )
  },
)

t.test(
  'a claim to devices wakes its own Pods, and all that ask for devices when it gives some back',
  (t) => {
    const named = (fields: object): ResourceClaim => ({
      kind: 'ResourceClaim',
      apiVersion: 'resource.k8s.io/v1',
      metadata: storedMetadata({ name: 'c', namespace: 'ns' }),
      spec: {},
      ...fields,
    })
    const using = (claim: string) =>
      pod(claim, { resourceClaims: [{ name: 'r', resourceClaimName: claim }] })
    const extended = pod('extended', {
      containers: [{ name: 'c', resources: { requests: { 'example.com/gpu': '1' } } }],
    })
    const all = [using('c'), using('d'), extended, pod('plain')]
    const woken = (now: object, before: object) =>
      all.filter(concernedBy(named(now), named(before))).map(({ metadata }) => metadata.name)
    const allocated = { status: { allocation: { devices: {} } } }
    t.same(woken(allocated, {}), ['c'])
    t.same(woken({}, allocated), ['c', 'd', 'extended'])
    const held = { metadata: storedMetadata({ name: 'c', namespace: 'ns', finalizers: ['f'] }) }
    t.same(woken(held, {}), [], 'it is about to be allocated')
    t.end()
  },
)

t.test('a node that takes more volumes of a driver than before wakes Pods with volumes', (t) => {
  const taking = (...drivers: [name: string, count?: number][]): CsiNode => ({
    kind: 'CSINode',
    apiVersion: 'storage.k8s.io/v1',
    metadata: storedMetadata({ name: 'n' }),
    spec: {
      drivers: drivers.map(([name, count]) => ({
        name,
        nodeID: 'n',
        ...(count !== undefined && { allocatable: { count } }),
      })),
    },
  })
  t.equal(takesMoreVolumes(taking(['a', 2]), taking(['a', 1])), true)
  t.equal(takesMoreVolumes(taking(['a', 1], ['b', 1]), taking(['a', 1])), true)
  t.equal(takesMoreVolumes(taking(['a', 1], ['b']), taking(['a', 2])), false)
  t.end()
})

t.test('a neighbour helps those that wanted it, or no more its like, or count it', (t) => {
  const affine = (side: 'podAffinity' | 'podAntiAffinity') =>
    pod(side, {
      affinity: { [side]: { requiredDuringSchedulingIgnoredDuringExecution: near('db') } },
    })
  const spread = pod('spread', {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'db' } },
      },
    ],
  })
  const all = [affine('podAffinity'), affine('podAntiAffinity'), spread, pod('plain')]
  const running = (app: string): Pod => pod('other', { nodeName: 'n' }, { app })
  const helped = (now: Pod, before?: Pod) =>
    all.filter(helpedBy(now, before, viewOf([]))).map(({ metadata }) => metadata.name)
  t.same(helped(running('db')), ['podAffinity', 'spread'])
  t.same(helped(running('db'), pod('other', {}, { app: 'db' })), ['podAffinity', 'spread'])
  t.same(helped(running('web')), [])
  t.same(helped(running('web'), running('db')), ['podAntiAffinity', 'spread'])
  t.same(helped(running('db'), running('db')), [])
  t.end()
})
