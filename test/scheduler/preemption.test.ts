/** Who has to go for a Pod of higher priority, and what is said when nobody can. */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import { inspectClaims } from '#scheduler/volume-claims.js'
import { volumeFilter } from '#scheduler/volume-filter.js'
import { storedMetadata } from '../stored-metadata.js'
import { cpu, decideIn, info, node, pod, preempt, victimsOf, viewOf } from './small-cluster.js'

const at = (name: string, priority: number, amount: string): Pod =>
  pod(name, { ...cpu(amount), priority })
const messageOf = (found: ReturnType<typeof preempt>): string =>
  found.node === undefined ? found.message : `preempts on ${found.node}`

t.test('preemption takes the fewest and least important, and only where that helps', (t) => {
  const a = info(node('a'), at('a-low', 1, '2'), at('a-mid', 5, '2'))
  const b = info(node('b'), at('b-mid', 5, '4'))
  const c = info(node('c', { spec: { unschedulable: true } }), at('c-low', 0, '4'))
  const view = viewOf([a, b, c])
  const found = preempt(at('vip', 10, '2'), view)
  t.same([found.node, victimsOf(found)], ['a', ['a-low']])
  t.equal(
    messageOf(preempt(at('same', 1, '2'), view)),
    'preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.',
  )
  const never = { ...at('vip', 10, '2').spec, preemptionPolicy: 'Never' }
  t.match(
    messageOf(preempt(pod('vip', never), view)),
    /not eligible due to preemptionPolicy=Never\.$/,
  )
  t.end()
})

t.test('preemption breaks no budget where it can be helped', (t) => {
  const of = (name: string, app: string): Pod => pod(name, { ...cpu('4'), priority: 1 }, { app })
  const view = viewOf([info(node('a'), of('a-1', 'guarded')), info(node('b'), of('b-1', 'plain'))])
  const budget = (app: string, disruptionsAllowed: number) => ({
    kind: 'PodDisruptionBudget',
    apiVersion: 'policy/v1',
    metadata: storedMetadata({ name: app, namespace: 'ns' }),
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed },
  })
  const victims = (...budgets: ReturnType<typeof budget>[]) =>
    victimsOf(preempt(at('vip', 10, '2'), view, budgets))
  t.same(victims(budget('guarded', 0)), ['b-1'])
  t.same(victims(budget('plain', 0)), ['a-1'])
  t.same(victims(budget('plain', 0), budget('guarded', 1)), ['a-1'], 'one may go')
  t.equal(victims(budget('plain', 0), budget('guarded', 0))?.length, 1, 'if need be, any')

  const named = viewOf([
    info(node('a'), of('constructor', 'guarded')),
    info(node('b'), of('b-1', 'plain')),
  ])
  const evicting = budget('guarded', 0)
  const disruptedPods = { 'a-2': '2026-01-01T00:00:00Z' }
  const found = preempt(at('vip', 10, '2'), named, [
    { ...evicting, status: { ...evicting.status, disruptedPods } },
  ])
  t.same(victimsOf(found), ['b-1'], 'whatever the Pod is called')

  const bare = viewOf([
    info(node('a'), pod('a-1', { ...cpu('4'), priority: 1 })),
    info(node('b'), of('b-1', 'plain'), of('b-2', 'plain')),
  ])
  const unlabelled = {
    ...budget('none', 0),
    spec: { selector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] } },
  }
  t.same(victimsOf(preempt(at('vip', 10, '2'), bare, [unlabelled])), ['a-1'], 'without labels')
  t.end()
})

t.test('of Pods that are alike the one goes that has run for the shortest time', (t) => {
  const since = (name: string, startTime?: string): Pod => ({
    ...at(name, 1, '4'),
    status: startTime === undefined ? {} : { startTime },
  })
  const victims = (...pods: Pod[]) =>
    victimsOf(
      preempt(at('vip', 10, '2'), viewOf(pods.map((p) => info(node(`of-${p.metadata.name}`), p)))),
    )
  const [old, young, waits] = [
    since('old', '2026-01-01T00:00:00Z'),
    since('young', '2026-01-02T00:00:00Z'),
    since('waits'),
  ]
  t.same(victims(old, young), ['young'])
  t.same(victims(young, old), ['young'])
  t.same(victims(waits, young), ['waits'], 'it has not begun')
  t.same(victims(young, waits), ['waits'])
  t.end()
})

t.test('the filter that still refuses when all lesser Pods are gone is reported', (t) => {
  const view = viewOf([info(node('a'), at('low', 1, '1'), at('high', 20, '3'))])
  t.match(
    messageOf(preempt(at('vip', 10, '2'), view)),
    /preemption: 0\/1 nodes are available: 1 Insufficient cpu\.$/,
  )
  t.end()
})

t.test('room that others made counts on their node only, and is not relied upon', (t) => {
  const zone = (name: string, z: string) => info(node(name, { labels: { zone: z } }))
  const nodes = [zone('a', 'a'), zone('b', 'b')]
  const spread = {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'x' } },
      },
    ],
  }
  const nominated = pod('first', cpu('4'), { app: 'x' })
  const view = viewOf(nodes, {
    nominatedTo: ({ node: n }) => (n!.metadata.name === 'a' ? [nominated] : []),
  })
  t.match(decideIn(view, pod('big', cpu('1'))), { node: 'b' }, 'it has taken all of a')
  const asks = pod('next', { ...cpu('1'), ...spread }, { app: 'x' })
  const far = viewOf(nodes, { nominatedTo: () => [] })
  far.nodes[0]!.addPod(pod('there', {}, { app: 'x' }))
  far.nodes[1]!.addPod(pod('here', {}, { app: 'x' }))
  t.match(
    decideIn(
      { ...far, nominatedTo: ({ node: n }) => (n!.metadata.name === 'b' ? [nominated] : []) },
      asks,
    ),
    { node: 'a' },
    'seen from a, nobody was nominated to b',
  )
  const near = {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'y' } } },
        ],
      },
    },
  }
  const friend = pod('friend', {}, { app: 'y' })
  t.match(
    decideIn(viewOf(nodes, { nominatedTo: () => [friend] }), pod('follower', near)),
    { node: undefined, refused: [{}, {}] },
    'one that may end up elsewhere is nobody to be near to',
  )
  t.end()
})

t.test(
  'who made room waits for its victims to end, unless the node cannot be its any more',
  (t) => {
    const ending = at('low', 1, '3')
    ending.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
    const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }
    ending.status.conditions = [condition]
    const vip = at('vip', 10, '2')
    vip.status.nominatedNodeName = 'a'
    const found = preempt(vip, viewOf([info(node('a'), ending)]))
    t.match(found, { node: undefined, keepsNomination: true })
    t.match(messageOf(found), /not eligible due to a terminating pod on the nominated node\.$/)
    const cordoned = info(node('a', { spec: { unschedulable: true } }), ending)
    const other = info(node('b'), at('low-b', 1, '3'))
    t.same(victimsOf(preempt(vip, viewOf([cordoned, other]))), ['low-b'])
    condition.reason = 'EvictionByEvictionAPI'
    t.same(
      victimsOf(preempt(vip, viewOf([info(node('a'), ending)]))),
      ['low'],
      'others sent it away',
    )
    t.end()
  },
)

t.test('a claim that only one Pod may use is won from a lesser Pod, wherever that is', (t) => {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }]
  const claim = {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: storedMetadata({
      name: 'c',
      namespace: 'ns',
      annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
    }),
    spec: { volumeName: 'pv', accessModes: ['ReadWriteOncePod'] },
    status: { phase: 'Bound' },
  }
  const volume = {
    kind: 'PersistentVolume',
    apiVersion: 'v1',
    metadata: storedMetadata({}),
    spec: {},
    status: {},
  }
  const only = <T>(value: T) => ({ get: () => value })
  const stores = { claims: only(claim), volumes: only(volume), classes: only(undefined) }
  const nodes = [info(node('a'), pod('user', { volumes, priority: 1 })), info(node('b'))]
  const winner = pod('winner', { volumes, priority: 10 })
  const findings = inspectClaims(winner, stores)
  const view = viewOf(nodes, {
    volumeFilter: volumeFilter(winner, { findings, bindingProblem: () => undefined }, nodes),
  })
  const found = preempt(winner, view)
  t.same([found.node, victimsOf(found)], ['a', ['user']])
  const equal = { ...winner, spec: { ...winner.spec, priority: 1 } }
  t.match(messageOf(preempt(equal, view)), /2 No preemption victims found for incoming pod\.$/)
  const empty = [info(node('a'))]
  const waiting = viewOf(empty, {
    volumeFilter: volumeFilter(equal, { findings, bindingProblem: () => undefined }, empty),
    nominatedTo: () => [winner],
  })
  t.equal(decideIn(waiting, equal).node, 'a', 'one that waits for its room does not use it yet')
  t.end()
})
