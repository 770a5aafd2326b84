/** How much nodes are wished for, by Pods that want to be near others or away from them. */
import t from 'tap'
import type { Pod, PodAffinityTerm } from '#client/pod.js'
import { preferredNeighbours } from '#scheduler/scores.js'
import { info, node, pod, viewOf } from './small-cluster.js'

const scoresOf = preferredNeighbours({
  hardPodAffinityWeight: 1,
  ignorePreferredTermsOfExistingPods: false,
})
const term: PodAffinityTerm = { labelSelector: {}, topologyKey: 'disk' }
const wishing = (...weights: [side: 'podAffinity' | 'podAntiAffinity', weight: number][]): Pod => {
  const affinity: Pod['spec']['affinity'] = {}
  for (const [side, weight] of weights)
    affinity[side] = {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term }],
    }
  return pod('p', { affinity })
}

t.test('a node without the label lies in no domain, not in that of the empty value', (t) => {
  const nodes = [
    info(node('empty', { labels: { disk: '' } }), pod('other')),
    info(node('without')),
    info(node('ssd', { labels: { disk: 'ssd' } })),
  ]
  const scores = scoresOf(wishing(['podAntiAffinity', 90]), nodes, viewOf(nodes))
  t.same(scores, [0, 100, 100])
  t.end()
})

t.test('a share that no floating point number is exactly is cut as upstream cuts it', (t) => {
  const named = (name: string) => node(name, { labels: { disk: name } })
  const others = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => pod(`${prefix}-${i}`))
  const nodes = [
    info(named('a'), ...others('a', 100)),
    info(named('b'), ...others('b', 29)),
    info(named('c')),
  ]
  const scores = scoresOf(wishing(['podAffinity', 1]), nodes, viewOf(nodes))
  t.same(scores, [100, 28, 0])
  t.end()
})
