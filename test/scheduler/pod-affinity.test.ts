/** Pods of random clusters that want to be near one another or apart, beside what their terms mean. */
import fc from 'fast-check'
import t from 'tap'
import type { Pod, PodAffinityTerm } from '#client/pod.js'
import type { NodeInfo } from '#scheduler/node-info.js'
import { topologyOf } from '#scheduler/node-info.js'
import { preferencesOf } from '#scheduler/pod-affinity.js'
import { podAffinityFilter } from '#scheduler/pod-affinity-filter.js'
import { info, node, pod, viewOf } from './small-cluster.js'

const sides = ['podAffinity', 'podAntiAffinity'] as const
const labelsOf = { ns: { team: 'a' }, other: { team: 'b' } } as const

const term = fc.record({
  topologyKey: fc.constantFrom('zone', 'zone', 'disk'),
  labelSelector: fc.constantFrom(undefined, {}, { matchLabels: { app: 'a' } }),
  namespaces: fc.constantFrom<(string[] | undefined)[]>(undefined, undefined, ['other']),
  namespaceSelector: fc.constantFrom(undefined, undefined, {}, { matchLabels: labelsOf.other }),
})
type Term = typeof term extends fc.Arbitrary<infer T> ? T : never
const terms = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Term[]>([]) },
  { weight: 1, arbitrary: fc.array(term, { minLength: 1, maxLength: 2 }) },
)
const wishes = fc.array(fc.record({ weight: fc.integer({ min: 1, max: 9 }), term }), {
  maxLength: 1,
})
const side = fc.record({ required: terms, preferred: wishes })
const someone = fc.record({
  app: fc.constantFrom('a', 'b'),
  namespace: fc.constantFrom('ns', 'ns', 'other'),
  podAffinity: side,
  podAntiAffinity: side,
})
type Someone = typeof someone extends fc.Arbitrary<infer T> ? T : never

const place = fc.record({
  zone: fc.constantFrom(undefined, 'a', 'b'),
  disk: fc.constantFrom(undefined, 'ssd', 'hdd'),
  pods: fc.array(someone, { maxLength: 3 }),
})
const places = fc.array(place, { minLength: 1, maxLength: 4 })
type Place = typeof place extends fc.Arbitrary<infer T> ? T : never

const sideOf = ({ required, preferred }: Someone['podAffinity']) => ({
  requiredDuringSchedulingIgnoredDuringExecution: required as PodAffinityTerm[],
  preferredDuringSchedulingIgnoredDuringExecution: preferred.map((wish) => ({
    weight: wish.weight,
    podAffinityTerm: wish.term as PodAffinityTerm,
  })),
})

const podOf = (name: string, one: Someone): Pod => {
  const affinity = Object.fromEntries(sides.map((at) => [at, sideOf(one[at])]))
  const made = pod(name, { affinity }, { app: one.app })
  made.metadata.namespace = one.namespace
  return made
}

const clusterOf = (all: readonly Place[]) => {
  const nodes = all.map(({ zone, disk, pods }, i) => {
    const labels = { ...(zone && { zone }), ...(disk && { disk }) }
    return info(node(`n${i}`, { labels }), ...pods.map((one, j) => podOf(`p${i}-${j}`, one)))
  })
  const view = viewOf(nodes, { namespaceLabels: (name) => labelsOf[name as 'ns' | 'other'] })
  return { nodes, view }
}

const meets = (wanted: Term, owner: Someone, other: Someone): boolean => {
  const { labelSelector, namespaces, namespaceSelector } = wanted
  if (labelSelector === undefined) return false
  if ('matchLabels' in labelSelector && other.app !== 'a') return false
  if (namespaces?.includes(other.namespace)) return true
  if (namespaceSelector !== undefined)
    return !('matchLabels' in namespaceSelector) || other.namespace === 'other'
  return namespaces === undefined && other.namespace === owner.namespace
}

const isSame = (key: string, a: NodeInfo, b: NodeInfo): boolean =>
  topologyOf(a, key) !== undefined && topologyOf(a, key) === topologyOf(b, key)

const refusalsOf = (all: readonly Place[], nodes: readonly NodeInfo[], incoming: Someone) => {
  const others = all.flatMap(({ pods }, i) => pods.map((one) => ({ one, at: nodes[i]! })))
  const near = incoming.podAffinity.required
  const isWanted = (one: Someone) => near.every((wanted) => meets(wanted, incoming, one))
  const wanted = others.filter(({ one }) => isWanted(one))
  const isFirst =
    isWanted(incoming) &&
    !wanted.some(({ at }) => near.some(({ topologyKey: key }) => topologyOf(at, key) !== undefined))
  return nodes.map((at) => {
    const hasKeys = near.every(({ topologyKey }) => topologyOf(at, topologyKey) !== undefined)
    const isNear = near.every(({ topologyKey }) =>
      wanted.some((other) => isSame(topologyKey, at, other.at)),
    )
    if (!hasKeys || !(isNear || isFirst)) return "node(s) didn't match pod affinity rules"
    const isRefused = incoming.podAntiAffinity.required.some((away) =>
      others.some(
        (other) => meets(away, incoming, other.one) && isSame(away.topologyKey, at, other.at),
      ),
    )
    if (isRefused) return "node(s) didn't match pod anti-affinity rules"
    const isUnwelcome = others.some((other) =>
      other.one.podAntiAffinity.required.some(
        (away) => meets(away, other.one, incoming) && isSame(away.topologyKey, at, other.at),
      ),
    )
    return isUnwelcome ? "node(s) didn't satisfy existing pods anti-affinity rules" : undefined
  })
}

t.test('a node is refused where a required term is not met', async () => {
  fc.assert(
    fc.property(places, someone, (all, incoming) => {
      const { nodes, view } = clusterOf(all)
      const filter = podAffinityFilter(podOf('p', incoming), view)
      const expected = refusalsOf(all, nodes, incoming)
      return nodes.every((at, i) => filter?.refuse(at)?.reasons[0] === expected[i])
    }),
    { numRuns: 500 },
  )
})

t.test(
  'it is the same when one of the others comes later, and as before when it leaves',
  async () => {
    fc.assert(
      fc.property(places, someone, someone, (all, incoming, later) => {
        const { nodes, view } = clusterOf(all)
        const filter = podAffinityFilter(podOf('p', incoming), view)
        const clone = filter?.clone?.()
        // Idle: nobody has terms yet.
        if (clone === undefined) return true
        const told = () => nodes.map((at) => clone.refuse(at)?.reasons[0])
        const before = refusalsOf(all, nodes, incoming)
        const [first, ...rest] = all
        const after = [{ ...first!, pods: [...first!.pods, later] }, ...rest]
        clone.count!(podOf('q', later), nodes[0]!, 1)
        const isCounted = `${told()}` === `${refusalsOf(after, nodes, incoming)}`
        clone.count!(podOf('q', later), nodes[0]!, -1)
        return isCounted && `${told()}` === `${before}`
      }),
      { numRuns: 300 },
    )
  },
)

t.test('a node is wished for by the Pod that comes and by those that run', async () => {
  const settings = fc.record({
    hardPodAffinityWeight: fc.constantFrom(0, 1, 5),
    ignorePreferredTermsOfExistingPods: fc.boolean(),
  })
  fc.assert(
    fc.property(places, someone, settings, (all, incoming, given) => {
      const { nodes, view } = clusterOf(all)
      const preference = preferencesOf(podOf('p', incoming), view, given)
      const own = sides.flatMap((at) =>
        incoming[at].preferred.map((one) => ({ ...one, sign: at === 'podAffinity' ? 1 : -1 })),
      )
      const sumAt = (at: NodeInfo): number => {
        let sum = 0
        const add = (met: boolean, key: string, there: NodeInfo, weight: number) => {
          if (met && isSame(key, at, there)) sum += weight
        }
        for (const [i, { pods }] of all.entries())
          for (const one of pods) {
            const there = nodes[i]!
            for (const wish of own)
              add(
                meets(wish.term, incoming, one),
                wish.term.topologyKey,
                there,
                wish.sign * wish.weight,
              )
            for (const of of sides)
              for (const { term: theirs, weight } of one[of].preferred)
                add(
                  meets(theirs, one, incoming),
                  theirs.topologyKey,
                  there,
                  of === 'podAffinity' ? weight : -weight,
                )
            for (const theirs of one.podAffinity.required)
              add(
                meets(theirs, one, incoming),
                theirs.topologyKey,
                there,
                given.hardPodAffinityWeight,
              )
          }
        return sum
      }
      if (given.ignorePreferredTermsOfExistingPods && own.length === 0)
        return preference === undefined
      return nodes.every((at) => (preference?.(at) ?? 0) === sumAt(at))
    }),
    { numRuns: 500 },
  )
})
