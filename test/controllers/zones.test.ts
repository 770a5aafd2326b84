/** Which nodes' Pods are given up, and how fast: the rules of upstream's node-lifecycle-controller. */
import t from 'tap'
import type { Node } from '#client/pod.js'
import { settingsDefault } from '#controllers/flags.js'
import { awaitsEviction, nodeTaints, oldLabels } from '#controllers/node-lifecycle/reconcile.js'
import { Zones, zoneOf } from '#controllers/node-lifecycle/zones.js'
import { storedMetadata } from '../stored-metadata.js'

const node = (status: string, zone: string, more: Record<string, string> = {}): Node => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 'n', labels: { 'topology.kubernetes.io/zone': zone, ...more } }),
  spec: {},
  status: { conditions: [{ type: 'Ready', status }] },
})
const nodes = (ready: number, unhealthy: number, zone = 'a'): Node[] => [
  ...Array.from({ length: ready }, () => node('True', zone)),
  ...Array.from({ length: unhealthy }, () => node('Unknown', zone)),
]
const zoneA = zoneOf(node('True', 'a'))

/** At which seconds out of the next ones a node of the zone may be given up. */
const turns = (zones: Zones, zone: string, [from, to]: [number, number]): number[] => {
  const found: number[] = []
  for (let second = from; second <= to; second++)
    if (zones.mayEvict(zone, second * 1000)) found.push(second)
  return found
}
const observed = (...lists: Node[][]): Zones => {
  const zones = new Zones(settingsDefault)
  for (const list of lists) zones.observe(list, 0)
  return zones
}

t.test('a zone gives up one node in ten seconds', (t) => {
  t.same(turns(observed(nodes(3, 2)), zoneA, [0, 25]), [0, 10, 20])
  t.same(turns(observed(nodes(1, 2)), zoneA, [0, 5]), [0], 'two are no disruption')
  t.end()
})

t.test('a zone that is mostly unhealthy gives up none, or one in 100 s when it is large', (t) => {
  t.same(turns(observed(nodes(2, 3)), zoneA, [0, 300]), [])
  t.same(turns(observed(nodes(9, 10)), zoneA, [0, 12]), [0, 10], 'below 55 %')
  t.same(turns(observed(nodes(20, 31)), zoneA, [0, 250]), [0, 100, 200])
  t.end()
})

t.test('a lost zone goes at the full rate while another one lives', (t) => {
  t.same(turns(observed([...nodes(0, 5), ...nodes(1, 0, 'b')]), zoneA, [0, 12]), [0, 10])
  t.end()
})

t.test('when no node is ready none is given up, until one is', (t) => {
  const zones = new Zones(settingsDefault)
  t.equal(zones.observe([], 0), undefined)
  t.equal(zones.observe(nodes(3, 0), 0), undefined)
  t.equal(zones.observe(nodes(0, 3), 0), 'entered')
  t.equal(zones.observe(nodes(0, 3), 0), undefined)
  t.same(turns(zones, zoneA, [0, 100]), [])
  t.equal(zones.observe([...nodes(2, 1), node('Unknown', 'c')], 100_000), 'left')
  t.same(turns(zones, zoneA, [100, 125]), [110, 120], 'who has waited waits on')
  t.end()
})

t.test('nodes may be left out of the count', (t) => {
  const apart = { 'node.kubernetes.io/exclude-disruption': '' }
  const zones = new Zones(settingsDefault)
  t.equal(zones.observe([...nodes(0, 3), node('True', 'a', apart)], 0), 'entered')
  t.end()
})

t.test('Pods are given up by a taint of its own turn, which then follows the condition', (t) => {
  const now = 0
  const lost = node('Unknown', 'a')
  const keys = (of: Node, mayEvict: boolean) =>
    nodeTaints(of, { now, mayEvict })?.map(({ key, effect }) => `${key.split('/')[1]}:${effect}`)
  t.ok(awaitsEviction(lost))
  t.same(keys(lost, false), ['unreachable:NoSchedule'])
  t.same(keys(lost, true), ['unreachable:NoExecute', 'unreachable:NoSchedule'])
  lost.spec.taints = nodeTaints(lost, { now, mayEvict: true })!
  t.notOk(awaitsEviction(lost))
  lost.status.conditions = [{ type: 'Ready', status: 'False' }]
  t.same(keys(lost, false), ['not-ready:NoExecute', 'not-ready:NoSchedule'])
  lost.status.conditions = [{ type: 'Ready', status: 'True' }]
  t.same(keys(lost, false), [])
  const strange = node('constructor', 'a')
  t.notOk(awaitsEviction(strange), 'a status that nobody knows')
  t.equal(keys(strange, true), undefined)
  t.end()
})

t.test('labels of old follow those of today', (t) => {
  const labels = { 'kubernetes.io/os': 'linux', 'beta.kubernetes.io/os': 'x' }
  t.same(oldLabels(node('True', 'a', labels)), { 'beta.kubernetes.io/os': 'linux' })
  t.equal(oldLabels(node('True', 'a')), undefined)
  t.end()
})
