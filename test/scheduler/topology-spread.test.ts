/** Spreads of random clusters, beside what the constraints mean (kubernetes, plugins/podtopologyspread). */
import fc from 'fast-check'
import t from 'tap'
import type { Pod, TopologySpreadConstraint } from '#client/pod.js'
import type { NodeInfo } from '#scheduler/node-info.js'
import { spreadScores } from '#scheduler/topology-spread.js'
import { spreadFilter } from '#scheduler/topology-spread-filter.js'
import { info, node, pod, viewOf } from './small-cluster.js'

const hostname = 'kubernetes.io/hostname'
const ownAlone = { defaultingType: 'List', defaultConstraints: [] }
const byDefault = { defaultingType: 'System', defaultConstraints: [] }

const orNone = <T>(...values: T[]) => fc.constantFrom(undefined, ...values)

const constraint = fc.record({
  maxSkew: fc.integer({ min: 1, max: 3 }),
  topologyKey: fc.constantFrom('zone', 'zone', hostname),
  whenUnsatisfiable: fc.constantFrom('DoNotSchedule', 'ScheduleAnyway'),
  labelSelector: orNone({}, { matchLabels: { app: 'a' } }, { matchLabels: { app: 'a' } }),
  minDomains: orNone(1, 2, 3, 4),
  matchLabelKeys: orNone(['v'], ['none']),
  nodeAffinityPolicy: orNone('Honor', 'Ignore'),
  nodeTaintsPolicy: orNone('Honor', 'Ignore'),
})
const labels = fc.record({ app: fc.constantFrom('a', 'a', 'b'), v: fc.constantFrom('1', '2') })
const running = fc.record({ labels, isElsewhere: fc.nat(5), ends: fc.nat(5) })
const place = fc.record({
  zone: orNone('a', 'b', 'c', 'd'),
  disk: fc.constantFrom('ssd', 'ssd', 'hdd'),
  hasHostname: fc.nat(4),
  taint: orNone('NoSchedule', 'PreferNoSchedule'),
  pods: fc.array(running, { maxLength: 5 }),
  isCandidate: fc.nat(3),
})
const cluster = fc.record({
  constraints: fc.array(constraint, { minLength: 1, maxLength: 2 }),
  labels,
  picksDisk: fc.boolean(),
  tolerates: fc.boolean(),
  places: fc.array(place, { minLength: 1, maxLength: 6 }),
  joins: running,
})
type Cluster = typeof cluster extends fc.Arbitrary<infer T> ? T : never
type Place = Cluster['places'][number]

const runningPod = (name: string, one: Place['pods'][number]): Pod => {
  const made = pod(name, {}, one.labels)
  if (one.isElsewhere === 0) made.metadata.namespace = 'other'
  if (one.ends === 0) made.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
  return made
}

const nodeOf = ({ zone, disk, hasHostname, taint, pods }: Place, i: number): NodeInfo => {
  const made = node(`n${i}`, {
    labels: { disk, ...(zone && { zone }) },
    spec: taint === undefined ? {} : { taints: [{ key: 'k', effect: taint }] },
  })
  if (hasHostname === 0) delete made.metadata.labels![hostname]
  return info(made, ...pods.map((one, j) => runningPod(`p${i}-${j}`, one)))
}

const incoming = ({ constraints, picksDisk, tolerates, ...own }: Cluster): Pod =>
  pod(
    'p',
    {
      topologySpreadConstraints: constraints as TopologySpreadConstraint[],
      ...(picksDisk && { nodeSelector: { disk: 'ssd' } }),
      ...(tolerates && { tolerations: [{ key: 'k', operator: 'Exists' }] }),
    },
    own.labels,
  )

/** What the constraints of a kind say of a cluster. */
const meaningOf = (given: Cluster, action: string) => {
  const all = given.constraints.filter((one) => one.whenUnsatisfiable === action)
  const { places } = given
  const keyOf = (at: Place, key: string): string | undefined =>
    key === 'zone' ? at.zone : at.hasHostname === 0 ? undefined : `n${places.indexOf(at)}`
  const hasKeys = (at: Place): boolean =>
    all.every(({ topologyKey }) => keyOf(at, topologyKey) !== undefined)
  const counts = (one: (typeof all)[number], at: Place): boolean =>
    (one.nodeAffinityPolicy === 'Ignore' || !given.picksDisk || at.disk === 'ssd') &&
    (one.nodeTaintsPolicy !== 'Honor' || given.tolerates || at.taint !== 'NoSchedule')
  const selects = (one: (typeof all)[number], of: { app: string; v: string }): boolean =>
    one.labelSelector !== undefined &&
    (!('matchLabels' in one.labelSelector) || of.app === 'a') &&
    (one.matchLabelKeys?.[0] !== 'v' || of.v === given.labels.v)
  const selectsAll = (one: (typeof all)[number]): boolean =>
    one.labelSelector !== undefined &&
    !('matchLabels' in one.labelSelector) &&
    one.matchLabelKeys?.[0] !== 'v'
  const countOn = (one: (typeof all)[number], at: Place): number =>
    selectsAll(one)
      ? 0
      : at.pods.filter((p) => p.isElsewhere !== 0 && p.ends !== 0 && selects(one, p.labels)).length
  return { all, keyOf, hasKeys, counts, selects, countOn }
}

const refusals = (given: Cluster): (string | undefined)[] => {
  const { all, keyOf, hasKeys, counts, selects, countOn } = meaningOf(given, 'DoNotSchedule')
  return given.places.map((at) => {
    for (const one of all) {
      const domain = keyOf(at, one.topologyKey)
      if (domain === undefined) return 'missing'
      const counted = given.places.filter((other) => hasKeys(other) && counts(one, other))
      const domains = new Set(counted.map((other) => keyOf(other, one.topologyKey)))
      const inDomain = (value: string | undefined): number =>
        counted
          .filter((other) => keyOf(other, one.topologyKey) === value)
          .reduce((sum, other) => sum + countOn(one, other), 0)
      const fewest = Math.min(...[...domains].map(inDomain))
      const least = domains.size < (one.minDomains ?? 1) ? 0 : fewest
      const self = selects(one, given.labels) ? 1 : 0
      if (inDomain(domain) + self - least > one.maxSkew) return 'skewed'
    }
    return undefined
  })
}

t.test('nodes are refused where the Pod would make things too uneven', async () => {
  fc.assert(
    fc.property(cluster, (given) => {
      const nodes = given.places.map(nodeOf)
      const expected = refusals(given)
      const filter = spreadFilter(ownAlone)(incoming(given), viewOf(nodes))
      return nodes.every((one, i) => {
        const refused = filter?.refuse(one)
        const how = refused && (refused.hopeless ? 'missing' : 'skewed')
        return how === expected[i]
      })
    }),
    { numRuns: 500 },
  )
})

t.test(
  'it is the same when one of the others comes later, and as before when it leaves',
  async () => {
    fc.assert(
      fc.property(cluster, (given) => {
        const joins = { ...given.joins, ends: 1 }
        const constraints = given.constraints.map((one) => ({
          ...one,
          labelSelector: { matchLabels: { app: 'a' } },
        }))
        const before = { ...given, constraints }
        const [first, ...rest] = given.places
        const after = { ...before, places: [{ ...first!, pods: [...first!.pods, joins] }, ...rest] }
        const view = (of: Cluster) => viewOf(of.places.map(nodeOf))
        const filter = spreadFilter(ownAlone)(incoming(before), view(before))
        const clone = filter?.clone?.()
        const other = runningPod('q', joins)
        const nodes = view(before).nodes
        const told = () => nodes.map((one) => clone?.refuse(one)?.hopeless)
        const unchanged = JSON.stringify(told())
        clone?.count?.(other, nodes[0]!, 1)
        const expected = refusals(after).map((how) => how && how === 'missing')
        if (JSON.stringify(told()) !== JSON.stringify(expected)) return false
        clone?.count?.(other, nodes[0]!, -1)
        return JSON.stringify(told()) === unchanged
      }),
      { numRuns: 300 },
    )
  },
)

/** Of the candidates. */
const scores = (given: Cluster): number[] | undefined => {
  const { all, keyOf, hasKeys, counts, countOn } = meaningOf(given, 'ScheduleAnyway')
  const candidates = given.places.filter(({ isCandidate }) => isCandidate !== 0)
  const qualified = candidates.filter(hasKeys)
  if (all.length === 0) return undefined
  const costOf = (at: Place): number => {
    let cost = 0
    for (const one of all) {
      const isHost = one.topologyKey === hostname
      const sizes = new Set(qualified.map((other) => keyOf(other, one.topologyKey)))
      const size = isHost ? qualified.length : sizes.size
      const domain = given.places.filter(
        (other) =>
          hasKeys(other) &&
          counts(one, other) &&
          keyOf(other, one.topologyKey) === keyOf(at, one.topologyKey),
      )
      const count = (isHost ? [at] : domain).reduce((sum, other) => sum + countOn(one, other), 0)
      cost += count * Math.log(size + 2) + one.maxSkew - 1
    }
    return Math.round(cost)
  }
  const costs = qualified.map(costOf)
  const most = Math.max(0, ...costs)
  const least = Math.min(...costs)
  return candidates.map((at) => {
    if (!qualified.includes(at)) return 0
    return most === 0 ? 100 : Math.floor((100 * (most + least - costOf(at))) / most)
  })
}

t.test('nodes are the better the more even things become', async () => {
  fc.assert(
    fc.property(cluster, (given) => {
      const nodes = given.places.map(nodeOf)
      const candidates = nodes.filter((_, i) => given.places[i]!.isCandidate !== 0)
      const scored = spreadScores(ownAlone)(incoming(given), candidates, viewOf(nodes))
      return JSON.stringify(scored) === JSON.stringify(scores(given))
    }),
    { numRuns: 500 },
  )
})

t.test(
  'a Pod without constraints is kept away from those of its Services and its set',
  async (t) => {
    const set = { kind: 'ReplicaSet', apiVersion: 'apps/v1', name: 's', uid: 's', controller: true }
    const owned = (name: string, of: Record<string, string>, kind = set.kind): Pod => {
      const made = pod(name, {}, of)
      made.metadata.ownerReferences = [{ ...set, kind }]
      return made
    }
    const at = (zone: string | undefined, name: string, ...pods: Pod[]) =>
      info(node(name, { labels: zone ? { 'topology.kubernetes.io/zone': zone } : {} }), ...pods)
    const scoresOf = (p: Pod, selectors: Record<string, string>[]) => {
      const nodes = [
        at('a', 'n1', owned('o', { app: 'x', web: '1' })),
        at('a', 'n2', pod('of-service', {}, { web: '1' })),
        at('b', 'n3', pod('stranger', {}, { app: 'x' })),
        at(undefined, 'n4'),
      ]
      const view = viewOf(nodes, { serviceSelectors: () => selectors })
      return spreadScores(byDefault)(p, nodes, view)
    }
    const mine = { app: 'x', web: '1' }
    t.equal(scoresOf(pod('p', {}, mine), []), undefined, 'on its own')
    t.equal(scoresOf(pod('p', {}, mine), [{}]), undefined)
    t.equal(scoresOf(owned('p', mine, 'Job'), []), undefined, 'a Job is no such set')
    t.equal(scoresOf(pod('p', {}, { app: 'y' }), [{ web: '1' }]), undefined)
    // The zones are a, b and none: log 5 for each in the zone, log 6 for each on the node, beside 2 + 4 of the skews.
    t.same(scoresOf(owned('p', mine), []), [22, 33, 55, 100], '9, 8, 6 and 2')
    t.same(scoresOf(pod('p', {}, mine), [{ web: '1' }]), [18, 18, 63, 100], '11, 11, 6 and 2')
    t.same(scoresOf(owned('p', mine), [{ web: '1' }]), [22, 33, 55, 100], 'of both')
    t.equal(spreadFilter(byDefault)(owned('p', mine), viewOf([at('a', 'n1')])), undefined)
    t.end()
  },
)
