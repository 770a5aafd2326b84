import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import { formatMilli, parseMilli } from '#client/amount.js'
import { keyOf, ObjectStore } from '#client/object-store.js'
import type { Claim, StorageClass, Volume } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import { resources } from '#client/resources.js'
import { PendingPods } from '#scheduler/pending-pods.js'
import { inspectClaims } from '#scheduler/volume-claims.js'
import { volumesOnNode } from '#scheduler/waiting-claims.js'
import { startCluster, until } from '../controllers/cluster.js'
import { storedMetadata } from '../stored-metadata.js'
import { choose, cpu, info, node, pod, why } from './small-cluster.js'

t.test('each filter refuses in upstream words, and lets pass what tolerates or matches', (t) => {
  const toleration = { key: 'k', operator: 'Exists' }
  const tainted = info(
    node('n', { spec: { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] } }),
  )
  t.equal(why(pod('p'), tainted), 'node(s) had untolerated taint(s)')
  t.equal(why(pod('p', { tolerations: [toleration] }), tainted), undefined)
  const cordoned = info(node('n', { spec: { unschedulable: true } }))
  t.equal(why(pod('p'), cordoned), 'node(s) were unschedulable')
  const plain = info(node('n', { labels: { disk: 'ssd' } }))
  t.equal(
    why(pod('p', { nodeSelector: { disk: 'hdd' } }), plain),
    "node(s) didn't match Pod's node affinity/selector",
  )
  const required = (operator: string, values: string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator, values }] }],
        },
      },
    },
  })
  t.equal(why(pod('p', required('In', ['ssd', 'nvme'])), plain), undefined)
  t.match(why(pod('p', required('NotIn', ['ssd'])), plain), /affinity/)
  t.equal(why(pod('p', cpu('5')), plain), 'Insufficient cpu')
  const ports = { containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80 }] }] }
  const taken = info(node('n'), pod('other', ports))
  t.equal(why(pod('p', ports), taken), "node(s) didn't have free ports for the requested pod ports")
  const initPorts = (restartPolicy?: string) => ({
    initContainers: [{ name: 'i', restartPolicy, ports: ports.containers[0]!.ports }],
  })
  t.equal(why(pod('p', initPorts()), taken), undefined, 'what ends at first holds no port')
  t.match(why(pod('p', initPorts('Always')), taken), /free ports/)
  t.equal(why(pod('p', { nodeName: 'm' }), plain), "node(s) didn't match the requested node name")
  const restarts = {
    containers: [{ name: 'c', restartPolicyRules: [{ action: 'RestartAllContainers' }] }],
  }
  const newer = node('n')
  newer.status.declaredFeatures = ['RestartAllContainersOnContainerExits']
  t.equal(why(pod('p', restarts), plain), "node(s) didn't match Pod's required features")
  t.equal(why(pod('p', restarts), info(newer)), undefined)
  t.end()
})

t.test('affinity and anti-affinity look at whole domains, and at what others want', (t) => {
  const zone = (name: string, z: string, ...pods: Pod[]) =>
    info(node(name, { labels: { zone: z } }), ...pods)
  const term = { labelSelector: { matchLabels: { app: 'db' } }, topologyKey: 'zone' }
  const near = {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  }
  const away = {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  }
  const a1 = zone('a1', 'a', pod('db-0', {}, { app: 'db' }))
  const a2 = zone('a2', 'a')
  const b1 = zone('b1', 'b')
  t.equal(why(pod('web', near), a2, a1, b1), undefined)
  t.match(why(pod('web', near), b1, a1, a2), /pod affinity rules/)
  t.match(why(pod('web', away), a2, a1, b1), /pod anti-affinity rules/)
  t.equal(why(pod('web', away), b1, a1, a2), undefined)
  const loner = zone('a1', 'a', pod('loner', away))
  t.match(why(pod('db-1', {}, { app: 'db' }), a2, loner), /existing pods anti-affinity/)
  t.equal(why(pod('db-0', near, { app: 'db' }), b1), undefined, 'the first of a group may begin')
  const spread = {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'db' } },
      },
    ],
  }
  t.match(why(pod('db-1', spread, { app: 'db' }), a2, a1, b1), /topology spread/)
  t.equal(why(pod('db-1', spread, { app: 'db' }), b1, a1, a2), undefined)
  t.end()
})

t.test('a Pod is one to be near to only when all required terms speak of it', (t) => {
  const inZone = (name: string, z: string, ...pods: Pod[]) =>
    info(node(name, { labels: { zone: z } }), ...pods)
  const term = (matchLabels: Record<string, string>) => ({
    labelSelector: { matchLabels },
    topologyKey: 'zone',
  })
  const near = {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          term({ app: 'db' }),
          term({ tier: 'back' }),
        ],
      },
    },
  }
  const halves = inZone('a', 'a', pod('db', {}, { app: 'db' }), pod('b', {}, { tier: 'back' }))
  const whole = inZone('b', 'b', pod('both', {}, { app: 'db', tier: 'back' }))
  t.match(why(pod('web', near), halves, whole), /pod affinity rules/)
  t.equal(why(pod('web', near), whole, halves), undefined)
  const first = pod('first', near, { app: 'db', tier: 'back' })
  t.equal(why(first, halves), undefined, 'nobody is there that all speak of: it may begin')
  t.match(why(first, halves, whole), /pod affinity rules/)
  t.end()
})

t.test('a label is none that a node has because every object has something of its name', (t) => {
  const topologyKey = 'constructor'
  const labelSelector = { matchLabels: { app: 'db' } }
  const spread = {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector },
    ],
  }
  const near = {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey }],
      },
    },
  }
  const a = info(node('a'), pod('db', {}, { app: 'db' }))
  t.match(why(pod('p', spread, { app: 'db' }), a), /missing required label/)
  t.match(why(pod('p', near, { app: 'db' }), a), /pod affinity rules/)
  t.end()
})

t.test('a constraint of an empty selector counts nobody', (t) => {
  const spread = {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: {},
      },
    ],
  }
  t.equal(why(pod('p', spread), info(node('a'), pod('x'), pod('y')), info(node('b'))), undefined)
  t.end()
})

t.test('the nominated node comes first, and is reported even if the Pod names others', (t) => {
  const named = {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] },
          ],
        },
      },
    },
  }
  const nodes = [info(node('a')), info(node('b')), info(node('c'))]
  const nominated = pod('p', cpu('1'))
  nominated.status.nominatedNodeName = 'c'
  t.match(choose(nominated, ...nodes), { node: 'c' })
  const torn = pod('p', { ...named, ...cpu('5') })
  torn.status.nominatedNodeName = 'c'
  t.match(choose(torn, ...nodes), {
    message:
      "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
  })
  t.end()
})

t.test('the message counts reasons over nodes', (t) => {
  const decision = choose(
    pod('p', cpu('3')),
    info(node('a'), pod('x', cpu('2'))),
    info(node('b'), pod('y', cpu('2'))),
    info(node('c', { spec: { unschedulable: true } })),
  )
  t.match(decision, {
    node: undefined,
    message: '0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.',
  })
  t.match(choose(pod('p')), { message: 'no nodes available to schedule pods' })
  t.end()
})

t.test('whatever comes in whatever order, no node is ever given more than it has', (t) => {
  const amounts = fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(amounts, fc.integer({ min: 1, max: 4 }), (sizes, count) => {
      const nodes = Array.from({ length: count }, (_, i) => info(node(`n${i}`)))
      for (const [i, size] of sizes.entries()) {
        const p = pod(`p${i}`, cpu(`${size}m`))
        const { node: chosen } = choose(p, ...nodes)
        const fitting = nodes.filter((n) => (n.requested.get('cpu') ?? 0n) + BigInt(size) <= 4000n)
        if ((chosen === undefined) !== (fitting.length === 0)) return false
        nodes.find((n) => n.node!.metadata.name === chosen)?.addPod(p)
      }
      return nodes.every((n) => (n.requested.get('cpu') ?? 0n) <= 4000n)
    }),
    { numRuns: 100 },
  )
  t.end()
})

t.test('a Pod that names its node hears of the others in one message', (t) => {
  const named = (...values: string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values }] }],
        },
      },
    },
  })
  const nodes = [info(node('a', { cpu: '1' })), info(node('b')), info(node('c'))]
  t.match(choose(pod('p', named('b')), ...nodes), { node: 'b' })
  t.match(choose(pod('p', { ...named('a'), ...cpu('2') }), ...nodes), {
    message:
      "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
  })
  const zone = (z: string) => ({
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [z] }] }],
    },
  })
  const volume = (name: string, storage: string, z: string) => ({
    kind: 'PersistentVolume',
    apiVersion: 'v1',
    metadata: storedMetadata({ name }),
    spec: {
      storageClassName: 'local',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage },
      nodeAffinity: zone(z),
    },
    status: { phase: 'Available' },
  })
  const waiting = ['one', 'two'].map((name) => ({
    storageClass: {
      kind: 'StorageClass',
      apiVersion: 'storage.k8s.io/v1',
      metadata: storedMetadata({ name: 'local' }),
      provisioner: 'kubernetes.io/no-provisioner',
    },
    claim: {
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      metadata: storedMetadata({ name, namespace: 'ns', uid: name }),
      spec: {
        storageClassName: 'local',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      },
      status: {},
    },
  }))
  const volumes = [volume('a1', '2Gi', 'a'), volume('a2', '1Gi', 'a'), volume('b1', '5Gi', 'b')]
  const chosen = (z: string) => {
    const found = volumesOnNode(waiting, node('n', { labels: { zone: z } }), {
      volumes,
      hasCapacity: () => true,
    })
    return typeof found === 'string' ? found : [...found.values()].map((v) => v?.metadata.name)
  }
  t.same(chosen('a'), ['a2', 'a1'], 'the smallest that fits, each to one claim')
  t.equal(
    chosen('b'),
    "node(s) didn't find available persistent volumes to bind",
    'one volume is not enough for two claims',
  )
  t.end()
})

t.test('requests are those of the largest moment, sidecars and overhead included', (t) => {
  const c = (name: string, amount: string, restartPolicy?: string) => ({
    name,
    resources: { requests: { cpu: amount } },
    ...(restartPolicy ? { restartPolicy } : {}),
  })
  const p = pod('p', {
    containers: [c('main', '1'), c('other', '500m')],
    initContainers: [c('side', '200m', 'Always'), c('setup', '3')],
    overhead: { cpu: '100m' },
  })
  t.equal(podRequests(p).get('cpu'), 3300n)
  t.equal(parseMilli('1.5Gi'), 1_610_612_736_000n)
  t.equal(parseMilli('1e3'), 1_000_000n)
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 18n }),
      fc.constantFrom('binary' as const, 'decimal' as const),
      (n, family) => parseMilli(formatMilli(n, family)) === n,
    ),
  )
  t.end()
})

t.test('waiting Pods come by priority and age; one that failed waits for a change', async (t) => {
  let now = 0
  const pending = new PendingPods(() => now, { initialMs: 1_000, longestMs: 10_000 })
  const signal = new AbortController().signal
  const next = async () => (await pending.next(new Set(), signal))?.metadata.name
  const low = pod('low')
  const high = pod('high', { priority: 10 })
  pending.put(low)
  pending.put(high)
  t.equal(await next(), 'high')
  pending.failed(high, { park: true })
  t.equal(await next(), 'low')
  pending.unparkAll()
  t.equal(await next(), 'low', 'who backs off comes after all others')
  pending.remove(keyOf(low))
  t.equal(await next(), 'high', 'and before its time if there are none')
  pending.failed(high, { park: false })
  let isTried = false
  const waiting = next().then((name) => {
    isTried = true
    return name
  })
  await setImmediate()
  t.notOk(isTried, 'after an error it waits')
  now += 2_100
  pending.unparkAll()
  t.equal(await waiting, 'high')
})

t.test('after an error a Pod waits as long as errors in a row say', async (t) => {
  let now = 0
  const pending = new PendingPods(() => now, { initialMs: 1_000, longestMs: 10_000 })
  const p = pod('p')
  pending.put(p)
  /** How long it is waited for, in seconds. */
  const wait = async (park: boolean): Promise<number> => {
    pending.failed(p, { park })
    pending.unparkAll()
    pending.put(pod('z', { priority: -1 }))
    for (let seconds = 0; ; seconds++) {
      const found = await pending.next(new Set(), new AbortController().signal)
      if (found?.metadata.name === 'p') return seconds
      now += 1_000
    }
  }
  const waits: number[] = []
  for (const park of [true, true, true, false, false, true, false]) waits.push(await wait(park))
  t.strictSame(waits, [1, 2, 4, 1, 2, 8, 1])
})

t.test('claims hold a Pod back until they are bound, or until its node is known', (t) => {
  const stores = {
    claims: new ObjectStore<Claim>(),
    volumes: new ObjectStore<Volume>(),
    classes: new ObjectStore<StorageClass>(),
  }
  const p = pod('p', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] })
  const object = <T extends PersistedObject>(fields: object) =>
    ({ kind: '', apiVersion: '', metadata: storedMetadata({ name: 'c' }), ...fields }) as T
  t.equal(inspectClaims(p, stores).problem, 'persistentvolumeclaim "c" not found')
  stores.claims.set(
    'ns/c',
    object({ spec: { storageClassName: 'late' }, status: { phase: 'Pending' } }),
  )
  t.equal(inspectClaims(p, stores).problem, 'pod has unbound immediate PersistentVolumeClaims')
  stores.classes.set('late', object({ volumeBindingMode: 'WaitForFirstConsumer' }))
  t.match(inspectClaims(p, stores), {
    problem: undefined,
    waiting: [{ claim: { metadata: { name: 'c' } } }],
  })
  stores.claims.set('ns/c', {
    ...object<Claim>({ spec: { volumeName: 'pv' }, status: { phase: 'Bound' } }),
    metadata: storedMetadata({
      name: 'c',
      annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
    }),
  })
  t.equal(inspectClaims(p, stores).problem, 'persistentvolume "pv" not found')
  stores.volumes.set(
    'pv',
    object({ spec: { nodeAffinity: { required: { nodeSelectorTerms: [] } } } }),
  )
  t.match(inspectClaims(p, stores).bound, [{ volume: { spec: { nodeAffinity: Object } } }])
  t.end()
})

t.test(
  'every Pod gets a node once, though the scheduler is killed; gates and other names are left alone',
  async (t) => {
    const { client, spawn, createNamespace } = await startCluster(t)
    const namespace = 'scheduling'
    await createNamespace(namespace)
    for (const name of ['n1', 'n2']) {
      await client.create(resources.nodes, { metadata: { name } })
      // No controller is there to see that the node is ready.
      await client.patch(resources.nodes, { name }, { spec: { taints: null } }, { type: 'merge' })
      const { status } = node(name)
      await client.patch(
        resources.nodes,
        { name },
        { status },
        { type: 'merge', subresource: 'status' },
      )
    }
    const make = (name: string, spec: object) =>
      client.create(resources.pods, {
        metadata: { name, namespace },
        spec: {
          containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } }],
          ...spec,
        },
      })
    const scheduler = spawn('scheduler')
    const amount = 60
    for (let i = 0; i < amount; i++) {
      await make(`p${i}`, {})
      if (i === 20 || i === 40) await scheduler.killAndRestart()
    }
    const gates = [{ name: 'example.com/wait' }]
    await make('gated', { schedulingGates: gates })
    await make('foreign', { schedulerName: 'other' })
    await make('elsewhere', { nodeSelector: { nowhere: 'true' }, schedulingGates: gates })
    const elsewhere = { namespace, name: 'elsewhere' }
    await client.patch(
      resources.pods,
      elsewhere,
      { status: { nominatedNodeName: 'n1' } },
      { type: 'merge', subresource: 'status' },
    )
    const open = { spec: { schedulingGates: null } }
    await client.patch(resources.pods, elsewhere, open, { type: 'merge' })
    const list = async () => (await client.list<Pod>(resources.pods, { namespace })).items
    await until(async () => (await list()).filter((p) => p.spec.nodeName).length === amount)
    const pods = await list()
    for (const name of ['n1', 'n2'])
      t.ok(pods.filter((p) => p.spec.nodeName === name).length <= 40, 'nodes are not overfilled')
    await until(async () => {
      const failed = (await list()).find((p) => p.metadata.name === 'elsewhere')
      return (
        failed?.status.conditions?.some((c) => c.reason === 'Unschedulable') &&
        failed.status.nominatedNodeName === undefined
      )
    })
    t.equal((await list()).find((p) => p.metadata.name === 'gated')!.spec.nodeName, undefined)
    await client.patch(resources.pods, { namespace, name: 'gated' }, open, { type: 'merge' })
    await until(async () => (await list()).find((p) => p.metadata.name === 'gated')?.spec.nodeName)
    t.equal((await list()).find((p) => p.metadata.name === 'foreign')!.spec.nodeName, undefined)
  },
)
