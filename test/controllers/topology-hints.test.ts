/** Hints by `topology-mode: Auto`: upstream's cases, and a story as kube-controller-manager 1.36 leaves it. */
import t from 'tap'
import type { KubeObject, NamespacedObject } from '#api/object.js'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { Endpoint } from '#controllers/endpointslice/endpoint.js'
import type { EndpointSlice } from '#controllers/endpointslice/reconcile.js'
import { isOverloaded, withTopologyHints, zoneRatios } from '#controllers/endpointslice/topology.js'
import { until } from './cluster.js'
import { manage, startBeside } from './in-process.js'

const node = (zone: string, cpu: string, more: Record<string, string> = {}, status = 'True') =>
  ({
    metadata: { labels: { ...(zone && { 'topology.kubernetes.io/zone': zone }), ...more } },
    status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status }] },
  }) as unknown as Node
const ratiosOf = (...nodes: Node[]) => {
  const ratios = zoneRatios(nodes)
  return ratios && Object.fromEntries(ratios)
}
const endpoint = (zone: string | undefined, hint?: string, ready = true): Endpoint => ({
  addresses: ['10.0.0.1'],
  conditions: { ready, serving: ready, terminating: false },
  targetRef: { kind: 'Pod' },
  ...(zone && { zone }),
  ...(hint && { hints: { forZones: [{ name: hint }] } }),
})
const slice = (...zones: (string | Endpoint)[]) => ({
  endpoints: zones.map((zone) => (typeof zone === 'string' ? endpoint(zone) : zone)),
})
const hintsIn = (slices: readonly { endpoints: Endpoint[] | null }[]) =>
  slices.map(({ endpoints }) => endpoints!.map(({ hints }) => hints?.forZones?.[0]?.name ?? ''))

t.test('zones count by the processors of their ready nodes', (t) => {
  const controlPlane = { 'node-role.kubernetes.io/control-plane': '' }
  t.equal(ratiosOf(), undefined)
  t.equal(ratiosOf(node('a', '1')), undefined)
  t.equal(ratiosOf(node('a', '1'), node('a', '2')), undefined)
  t.same(ratiosOf(node('b', '3000m'), node('a', '1')), { a: 0.25, b: 0.75 })
  t.equal(ratiosOf(node('a', '1'), node('b', '3', {}, 'False')), undefined)
  t.equal(ratiosOf(node('a', '1'), node('b', '3', controlPlane)), undefined)
  t.same(ratiosOf(node('a', '1'), node('b', '1'), node('', '9', {}, 'Unknown')), { a: 0.5, b: 0.5 })
  t.equal(ratiosOf(node('a', '1'), node('b', '1'), node('', '9')), undefined)
  t.equal(ratiosOf(node('a', '1'), node('b', '1'), node('c', '0')), undefined)
  t.end()
})

t.test('each zone gets its part of the endpoints, its own first', (t) => {
  const three = new Map([
    ['zone-a', 0.35],
    ['zone-b', 0.35],
    ['zone-c', 0.3],
  ])
  const create = [slice('zone-a', 'zone-b'), slice('zone-c', 'zone-c', 'zone-a')]
  const update = [slice('zone-a', 'zone-a'), slice('zone-b', 'zone-c', 'zone-a')]
  const hinted = withTopologyHints({ create, update, unchanged: [] }, three)
  t.same(hintsIn(hinted.create), [
    ['zone-b', 'zone-b'],
    ['zone-c', 'zone-c', 'zone-a'],
  ])
  t.same(hintsIn(hinted.update), [
    ['zone-a', 'zone-a'],
    ['zone-b', 'zone-c', 'zone-a'],
  ])
  t.same(Object.fromEntries(hinted.allocated as Map<string, number>), {
    'zone-a': 4,
    'zone-b': 3,
    'zone-c': 3,
  })
  t.equal(create[0]!.endpoints[0]!.hints, undefined, 'what was given is as it was')

  const two = new Map([
    ['zone-a', 0.45],
    ['zone-b', 0.55],
  ])
  const problem = (slices: ReturnType<typeof slice>[], ratios: Map<string, number> | undefined) =>
    withTopologyHints({ create: [], update: [], unchanged: slices }, ratios)
  t.match(problem([], undefined).allocated, /^Insufficient Node information/)
  t.equal(
    problem([slice('zone-a', 'zone-b')], three).allocated,
    'Insufficient number of endpoints (2 endpoints, 3 zones)',
  )
  const few = [slice('zone-a', 'zone-a', 'zone-b')]
  t.match(problem(few, two).allocated, /^Unable to allocate minimum .* \(3 endpoints, 2 zones\)$/)
  const unready = [slice('zone-a', 'zone-b', endpoint('zone-a', undefined, false))]
  t.same(hintsIn(problem(unready, two).update), [['zone-a', 'zone-b', '']])

  const kept = slice(endpoint('zone-a', 'zone-a'), endpoint('zone-b', 'zone-b'))
  const rest = problem([kept], two)
  t.same([rest.update, (rest.allocated as Map<string, number>).size], [[], 2], 'right as it is')
  const gone = slice(endpoint('zone-a', 'zone-a'), endpoint('zone-b', 'zone-z'))
  t.same(hintsIn(problem([gone], two).update), [['zone-a', 'zone-b']])
  const tooMany = slice(endpoint('zone-a', 'zone-b'), endpoint('zone-b', 'zone-b'))
  t.same(hintsIn(problem([tooMany], two).update), [['zone-a', 'zone-b']])
  const homeless = slice(endpoint(undefined), endpoint('zone-b', 'zone-b'))
  const removed = problem([homeless], two)
  t.equal(removed.allocated, 'One or more endpoints do not have a zone specified')
  t.same(hintsIn(removed.update), [['', '']])
  t.same(hintsIn(problem([kept], undefined).update), [['', '']])
  t.end()
})

t.test('a zone may be a fifth short of its part', (t) => {
  const ratios = new Map([
    ['a', 0.5],
    ['b', 0.5],
  ])
  const isOver = (a: number, b: number) =>
    isOverloaded(
      new Map([
        ['a', a],
        ['b', b],
      ]),
      ratios,
    )
  t.notOk(isOver(5, 5))
  t.notOk(isOver(7, 5))
  t.ok(isOver(8, 5))
  t.ok(isOverloaded(new Map([['a', 9]]), ratios))
  t.ok(isOverloaded(new Map([['a', 9]]), undefined))
  t.notOk(isOverloaded(new Map(), ratios))
  t.end()
})

t.test('hints come with the annotation, go with it, and follow nodes', async (t) => {
  const client = await startBeside(t, async () => {}, undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const namespace = 'default'
  const merge = { type: 'merge' as const }
  const makeNode = (name: string, zone: string, cpu: string) => {
    const { metadata, status } = node(zone, cpu)
    return client.create<NamespacedObject>(resources.nodes, {
      metadata: { ...metadata, name },
      status,
    } as never)
  }
  await makeNode('a1', 'a', '4')
  await makeNode('b1', 'b', '4')
  await makeNode('c1', 'c', '1')
  const makePod = async (name: string, nodeName: string, ip: string) => {
    await client.create(resources.pods, {
      metadata: { name, namespace, labels: { app: 'x' } },
      spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
    })
    const conditions = [{ type: 'Ready', status: 'True' }]
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions }
    const at = { namespace, name }
    await client.patch(resources.pods, at, { status }, { ...merge, subresource: 'status' })
  }
  const zones = 'aaaaabbbc'
  for (const [i, zone] of [...zones].entries())
    await makePod(`${zone}-${i}`, `${zone}1`, `10.1.0.${i + 1}`)
  const auto = 'service.kubernetes.io/topology-mode'
  const at = { namespace, name: 'web' }
  await client.create(resources.services, {
    metadata: { ...at, annotations: { [auto]: 'Auto' } },
    spec: { selector: { app: 'x' }, ports: [{ port: 80 }], trafficDistribution: 'PreferSameNode' },
  })
  // When all is there: with a part of the Pods the hints are others, which is told.
  manage(t, client, { controllers: ['endpointslice-controller'] })
  const hints = async (): Promise<string[]> => {
    const { items } = await client.list<EndpointSlice>(resources.endpointSlices, { namespace })
    return items
      .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'web')
      .flatMap(({ endpoints }) => endpoints ?? [])
      .map(
        ({ zone, hints }) =>
          `${zone}>${hints?.forZones?.[0]?.name ?? ''}${hints?.forNodes ? '!' : ''}`,
      )
      .sort()
  }
  const areHints = (...wanted: string[]) =>
    until(async () => (await hints()).join(' ') === wanted.join(' '))
  const balanced = ['a>a', 'a>a', 'a>a', 'a>a', 'a>b', 'b>b', 'b>b', 'b>b', 'c>c']
  await areHints(...balanced)
  const annotate = (value: string | null) =>
    client.patch(resources.services, at, { metadata: { annotations: { [auto]: value } } }, merge)
  await annotate(null)
  await areHints(...[...zones].map((zone) => `${zone}>${zone}!`))
  await annotate('auto')
  await areHints(...balanced)
  await makeNode('d1', 'd', '100')
  await areHints(...[...zones].map((zone) => `${zone}>`))
  const told = async () =>
    (await client.list<KubeObject>(resources.events, { namespace })).items
      .map(({ type, reason, note }) => `${type} ${reason}: ${note}`)
      .sort()
  const last =
    'Warning TopologyAwareHintsDisabled: Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (9 endpoints, 4 zones), addressType: IPv4'
  await until(async () => (await told()).includes(last))
  t.same(await told(), [
    'Normal TopologyAwareHintsEnabled: Topology Aware Hints has been enabled, addressType: IPv4',
    'Warning TopologyAwareHintsDisabled: Topology Aware Hints has been disabled, addressType: IPv4',
    last,
  ])

  await client.delete(resources.nodes, { name: 'c1' })
  await annotate(null)
  const left = [...'aaaaabbb'].map((zone) => `${zone}>${zone}!`).join(' ')
  let looks = 0
  await until(async () => {
    // It is looked at for a change of its own, also once it is known that the node is gone.
    const annotations = { looks: String(++looks) }
    await client.patch(resources.services, at, { metadata: { annotations } }, merge)
    return (await hints()).join(' ') === left
  })
  const strange =
    'Warning FailedToUpdateEndpointSlices: Error updating Endpoint Slices for Service default/web: skipping Pod c-8 for Service default/web: Node c1 Not Found'
  await until(async () => (await told()).includes(strange))
})
