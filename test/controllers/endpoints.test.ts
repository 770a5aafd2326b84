/** What endpoints say of ports and of traffic. */
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { Informer, InformerHandler } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import type { Pod } from '#client/pod.js'
import { QueueMetrics } from '#client/queue-metrics.js'
import { endpointsAnnotations, reconcileSubsets } from '#controllers/endpoints/reconcile.js'
import {
  type EndpointPort,
  endpointOf,
  endpointPorts,
  type Service,
} from '#controllers/endpointslice/endpoint.js'
import { PacedQueue } from '#controllers/endpointslice/paced-queue.js'
import { inSliceOrder, inSubsetOrder } from '#controllers/endpointslice/port-order.js'
import { servicesOfPods } from '#controllers/endpointslice/services-of-pods.js'
import { TriggerTimes, withTriggerTime } from '#controllers/endpointslice/trigger-time.js'
import { storedMetadata } from '../stored-metadata.js'

t.test('ports come in the order in which kube-controller-manager 1.36 wrote them', (t) => {
  const port = (name: string, number: number, protocol = 'TCP', appProtocol?: string) =>
    ({ name, port: number, protocol, ...(appProtocol ? { appProtocol } : {}) }) as EndpointPort
  const ports = [
    port('a', 80),
    port('b', 81),
    port('c', 53, 'UDP'),
    port('d', 443),
    port('e', 9090, 'SCTP'),
    port('f', 8080),
    port('metrics', 9100),
    port('http', 8000, 'TCP', 'h2c'),
  ]
  const names = (list: EndpointPort[]) => list.map(({ name }) => name).join(' ')
  t.equal(names(inSliceOrder(ports)), 'e metrics b c a d f http')
  t.equal(names(inSubsetOrder(ports)), 'c metrics b http d e a f')
  t.end()
})

t.test('ready endpoints hint at where their traffic should come from', (t) => {
  const pod = (status: string) =>
    ({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p', namespace: 'ns', uid: 'u' },
      spec: { nodeName: 'n1', containers: [] },
      status: { conditions: [{ type: 'Ready', status }] },
    }) as unknown as Pod
  const node = (labels: Record<string, string>) => ({
    kind: 'Node',
    apiVersion: 'v1',
    metadata: storedMetadata({ name: 'n1', labels }),
  })
  const zoned = { 'topology.kubernetes.io/zone': 'z1' }
  const hints = (
    trafficDistribution: string | undefined,
    status = 'True',
    labels: object = zoned,
  ) => {
    const service = {
      metadata: storedMetadata({ name: 's' }),
      spec: { trafficDistribution },
    } as Service
    return endpointOf(pod(status), service, ['10.0.0.1'], node({ ...labels })).hints
  }
  const forZones = [{ name: 'z1' }]
  const forNodes = [{ name: 'n1' }]
  t.same(hints('PreferClose'), { forZones })
  t.same(hints('PreferSameZone'), { forZones })
  t.same(hints('PreferSameNode'), { forZones, forNodes })
  t.same(hints('PreferSameNode', 'True', {}), { forNodes })
  t.same(hints('PreferSameZone', 'True', {}), undefined)
  t.same(hints('PreferClose', 'False'), undefined, 'not ready')
  t.same(hints(undefined), undefined)
  t.end()
})

const serviceOf = (spec: object): Service =>
  ({
    metadata: storedMetadata({ name: 's', creationTimestamp: '2026-01-01T00:00:00Z' }),
    spec,
  }) as Service
const ports = [{ port: 80, targetPort: 8080, protocol: 'TCP' }]
const shownPorts = [{ port: 8080, protocol: 'TCP' }]

interface Member {
  ip: string
  uid: string
  ready: boolean
  ended: boolean
  gone: boolean
}
const podOf = ({ ip, uid, ready, ended, gone }: Member, changedAt?: string): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    ...storedMetadata({ name: ip, namespace: 'ns', uid }),
    ...(gone ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  spec: { nodeName: 'n1', containers: [] },
  status: {
    phase: ended ? 'Failed' : 'Running',
    podIPs: [{ ip }],
    conditions: [
      {
        type: 'Ready',
        status: ready ? 'True' : 'False',
        ...(changedAt === undefined ? {} : { lastTransitionTime: changedAt }),
      },
    ],
  },
})
const members = fc.uniqueArray(
  fc.record({
    ip: fc.integer({ min: 1, max: 99 }).map((n) => `10.0.0.${n}`),
    uid: fc.uuid(),
    ready: fc.boolean(),
    ended: fc.boolean(),
    gone: fc.boolean(),
  }),
  { selector: (m) => m.ip },
)

t.test('Endpoints have the address of each Pod that lives once, in order, ready or not', (t) => {
  const ips = (list: { ip: string }[]) => list.map(({ ip }) => ip)
  fc.assert(
    fc.property(members, fc.boolean(), fc.boolean(), (pods, publishes, isBare) => {
      const kind = isBare ? { clusterIP: 'None' } : { clusterIP: '10.96.0.1', ports }
      const service = serviceOf({ ...kind, publishNotReadyAddresses: publishes })
      const { subsets, truncated } = reconcileSubsets(
        service,
        pods.map((member) => podOf(member)),
      )
      const there = pods.filter((m) => !m.ended && (publishes || !m.gone))
      const isReady = (m: Member) => publishes || m.ready
      t.same(ips(subsets[0]?.addresses ?? []), ips(there.filter(isReady)).sort())
      t.same(ips(subsets[0]?.notReadyAddresses ?? []), ips(there.filter((m) => !isReady(m))).sort())
      t.equal(subsets.length, there.length === 0 ? 0 : 1)
      t.same(subsets[0]?.ports, isBare || there.length === 0 ? undefined : shownPorts)
      t.equal(truncated, false)
    }),
    { numRuns: 50 },
  )
  const one = { ip: '10.0.0.1', uid: 'u', ready: true, ended: false, gone: false }
  const none = serviceOf({ clusterIP: '10.96.0.1' })
  t.same(reconcileSubsets(none, [podOf(one)]).subsets, [], 'no ports, and not headless')
  t.end()
})

t.test('ports that the same Pods have share a subset, in the order of upstream', (t) => {
  const service = serviceOf({
    clusterIP: '10.96.0.1',
    ports: [
      { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' },
      { name: 'admin', port: 9000, targetPort: 9000, protocol: 'TCP', appProtocol: 'h2c' },
    ],
  })
  const pods = Array.from({ length: 6 }, (_, i): Pod => {
    const ip = `10.0.0.${i + 1}`
    const made = podOf({ ip, uid: `u${ip}`, ready: i % 2 === 0, ended: false, gone: false })
    const ports = [{ name: 'http', containerPort: 8000 + (i % 3), protocol: 'TCP' }]
    const named = i === 2 ? { hostname: 'h', subdomain: 's' } : {}
    return { ...made, spec: { ...made.spec, ...named, containers: [{ name: 'c', ports }] } }
  })
  const { subsets } = reconcileSubsets(service, pods)
  const last = (list: { ip: string }[] = []) => list.map(({ ip }) => ip.slice(-1)).join('')
  t.same(
    subsets.map(({ addresses, notReadyAddresses, ports }) => [
      last(addresses),
      last(notReadyAddresses),
      ports!.map(({ name, port }) => `${name} ${port}`).join(),
    ]),
    [
      ['135', '246', 'admin 9000'],
      ['5', '2', 'http 8001'],
      ['1', '4', 'http 8000'],
      ['3', '6', 'http 8002'],
    ],
    "as upstream's RepackSubsets gave them",
  )
  t.end()
})

t.test('of too many addresses the ready ones stay, each subset with its share', (t) => {
  const service = serviceOf({
    clusterIP: '10.96.0.1',
    ports: [{ port: 80, targetPort: 'http', protocol: 'TCP' }],
  })
  const pods = (count: number, ready: boolean, port: number) =>
    Array.from({ length: count }, (_, i): Pod => {
      const ip = `10.${port}.${ready ? 1 : 0}.${String(i).padStart(3, '0')}`
      const made = podOf({ ip, uid: ip, ready, ended: false, gone: false })
      const ports = [{ name: 'http', containerPort: port, protocol: 'TCP' }]
      return { ...made, spec: { ...made.spec, containers: [{ name: 'c', ports }] } }
    })
  /** How many are ready and not, at port 80 and at port 81; and the mark. */
  const kept = (...given: Pod[][]) => {
    const { subsets, truncated } = reconcileSubsets(service, given.flat())
    const mark = endpointsAnnotations({ a: 'b', [overCapacity]: 'old' }, truncated)
    const counts = [80, 81].map((port) => {
      const subset = subsets.find(({ ports }) => ports![0]!.port === port)
      return [subset?.addresses?.length ?? 0, subset?.notReadyAddresses?.length ?? 0]
    })
    return [...counts, mark]
  }
  const overCapacity = 'endpoints.kubernetes.io/over-capacity'
  const [fits, cut] = [{ a: 'b' }, { a: 'b', [overCapacity]: 'truncated' }]
  t.same(kept(pods(600, true, 80), pods(400, false, 81)), [[600, 0], [0, 400], fits])
  t.same(
    kept(pods(600, false, 80), pods(300, true, 80), pods(201, false, 81), pods(100, true, 81)),
    [[300, 450], [100, 150], cut],
    '600 places for 801: 449.4 and what is left',
  )
  t.same(
    kept(pods(1, false, 80), pods(900, true, 80), pods(300, true, 81)),
    [[750, 0], [250, 0], cut],
    'none that is not ready, where there are too many that are',
  )
  t.same(kept(pods(1, false, 80), pods(1000, true, 81)), [[0, 0], [1000, 0], cut])
  const { subsets } = reconcileSubsets(service, pods(1001, true, 80))
  t.equal(subsets[0]!.addresses!.at(-1)!.ip, '10.80.1.998', 'in the order of their addresses')
  t.end()
})

t.test('a change began with the Service, or with the first Pod that changed since', (t) => {
  const times = new TriggerTimes()
  const service = serviceOf({})
  const pod = (ip: string, changedAt?: string) =>
    podOf({ ip, uid: ip, ready: true, ended: false, gone: false }, changedAt)
  const at = (second: number) => `2026-01-01T00:01:0${second}Z`
  const { creationTimestamp } = service.metadata
  t.equal(times.take(service, [pod('a', at(1))]), creationTimestamp)
  t.equal(times.take(service, [pod('a', at(1))]), undefined, 'nothing is new')
  t.equal(times.take(service, [pod('a', at(1)), pod('b'), pod('c', at(3))]), at(3))
  t.equal(times.take(service, [pod('a', at(5)), pod('c', at(4))]), at(4), 'the earlier one')
  t.equal(times.take(service, [pod('c', at(2))]), undefined, 'older than what was known')
  times.forget('ns/s')
  t.equal(times.take(service, []), creationTimestamp)
  const annotation = 'endpoints.kubernetes.io/last-change-trigger-time'
  const told = withTriggerTime({ a: 'b' }, at(1))
  t.same(told, { a: 'b', [annotation]: at(1) })
  t.same(withTriggerTime(told, undefined), { a: 'b' }, 'nothing is said of an old change')
  t.end()
})

t.test('a change of a Pod concerns the Services whose endpoints it may change', (t) => {
  const service = (name: string, selector: Record<string, string>) => ({
    metadata: storedMetadata({ name }),
    spec: { selector },
  })
  const all = [
    service('left', { a: '1' }),
    service('joined', { a: '2' }),
    service('kept', { b: '1' }),
  ]
  const services = {
    handle: () => {},
    store: { byIndex: () => all },
  } as unknown as Informer<Service>
  let handler: InformerHandler<Pod> = {}
  const pods = { handle: (one: typeof handler) => (handler = one) } as unknown as Informer<Pod>
  let told: string[] = []
  servicesOfPods({ services, pods }, (key) => told.push(key.replace('ns/', '')))
  const toldOf = (change: () => void) => {
    told = []
    change()
    return told.sort()
  }
  const one = { ip: '10.0.0.1', uid: 'u', ready: true, ended: false, gone: false }
  const labelled = (a: string, more: Partial<Member> = {}): Pod => {
    const made = podOf({ ...one, ...more })
    return { ...made, metadata: { ...made.metadata, labels: { a, b: '1' } } }
  }
  t.same(
    toldOf(() => handler.onAdd?.(labelled('1'))),
    ['kept', 'left'],
  )
  t.same(
    toldOf(() => handler.onUpdate?.(labelled('2'), labelled('1'))),
    ['joined', 'left'],
    'who keeps it shows no label of it',
  )
  t.same(
    toldOf(() => handler.onUpdate?.(labelled('2', { ready: false }), labelled('1'))),
    ['joined', 'kept', 'left'],
  )
  const same = labelled('1')
  t.same(
    toldOf(() => handler.onUpdate?.({ ...same }, same)),
    [],
  )
  t.same(
    toldOf(() => handler.onDelete?.(labelled('2'))),
    ['joined', 'kept'],
  )
  t.end()
})

t.test('a named port is that of a container or a sidecar, of the same protocol', (t) => {
  const one = podOf({ ip: '10.0.0.1', uid: 'u', ready: true, ended: false, gone: false })
  const named = (name: string, containerPort: number, protocol = 'TCP') => ({
    name: 'c',
    ports: [{ name, containerPort, protocol }],
  })
  const pod: Pod = {
    ...one,
    spec: {
      ...one.spec,
      containers: [{ name: 'bare' }, named('dns', 53, 'UDP'), named('dns', 54)],
      initContainers: [
        named('once', 1),
        { ...named('proxy', 2), restartPolicy: 'Always' },
        { ...named('dns', 3), restartPolicy: 'Always' },
      ],
    },
  }
  const found = (targetPort: string | number, protocol = 'TCP') =>
    endpointPorts(serviceOf({ ports: [{ port: 80, targetPort, protocol }] }), pod).map(
      ({ port }) => port,
    )
  t.same(found('dns'), [54])
  t.same(found('dns', 'UDP'), [53])
  t.same(found('proxy'), [2])
  t.same(found('once'), [], 'an init container serves nobody')
  t.same(found('80'), [])
  t.same(found(8080), [8080])
  t.end()
})

t.test(
  'a large Service rests after its turn: what changes meanwhile is told together',
  async (t) => {
    const sizes: Record<string, number> = { large: 300, small: 100, late: 0 }
    const synced: string[] = []
    const stop = new AbortController()
    const begin = (queue: PacedQueue) =>
      queue.run({ log: silentLog, workers: 5 }, async (key) => {
        synced.push(key)
        return sizes[key]!
      })(stop.signal)
    // Real time would be late on a machine that is, and parts of a millisecond would not add up to whole ones.
    let now = Math.ceil(performance.now())
    t.intercept(performance, 'now', { value: () => now })
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const after = async (ms: number): Promise<string[]> => {
      now += ms
      mock.timers.tick(ms)
      for (let i = 0; i < 10; i++) await nextTurn()
      return synced.splice(0)
    }
    const queues = new QueueMetrics()
    const paced = new PacedQueue({ queues }, 'paced', { restMsPerEndpoint: 1 })
    const behind = new PacedQueue({ queues }, 'behind', { restMsPerEndpoint: 0, leadMs: 100 })
    const running = [begin(paced), begin(behind)]
    paced.add('large')
    t.same(await after(0), ['large'])
    behind.add('late')
    for (const key of ['large', 'small', 'large']) paced.add(key)
    t.same(await after(0), ['small'])
    t.same(await after(100), ['late'])
    t.same(await after(190), [])
    t.same(await after(10), ['large'])
    paced.add('large')
    paced.add('small')
    t.same(await after(0), ['small'], 'of a hundred endpoints none rests')
    t.same(await after(300), ['large'])
    stop.abort()
    await Promise.all(running)
  },
)
