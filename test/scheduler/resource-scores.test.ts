/** How well a Pod's requests fit on a node, in upstream's figures (kubernetes, plugins/noderesources). */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import type {
  ResourceWeight,
  ScoringStrategy,
  ShapePoint,
} from '#scheduler/configuration/plugin-arguments.js'
import type { NodeInfo } from '#scheduler/node-info.js'
import { allocation, balanced } from '#scheduler/resource-scores.js'
import { info, node, pod, viewOf } from './small-cluster.js'

const asking = (name: string, requests: Record<string, string>): Pod =>
  pod(name, { containers: [{ name: 'c', resources: { requests } }] })
/** With 4 processors, 8 GiB and what else is offered. */
const offering = (more: Record<string, string>, ...pods: Pod[]): NodeInfo => {
  const made = node('n')
  Object.assign(made.status.allocatable!, more)
  return info(made, ...pods)
}
const plain = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
]
const gpu = { name: 'example.com/gpu', weight: 1 }
const running = asking('other', { cpu: '1', memory: '1Gi' })

const score = (strategy: ScoringStrategy, p: Pod, at: NodeInfo): number =>
  allocation(strategy)(p, [at], viewOf([at]))![0]!

t.test('the least or the most taken node is best', async (t) => {
  const both = (p: Pod, at: NodeInfo, resources: ResourceWeight[] = plain) =>
    ['LeastAllocated', 'MostAllocated'].map((type) => score({ type, resources }, p, at))
  const p = asking('p', { cpu: '1', memory: '1Gi' })
  t.same(both(p, offering({})), [81, 18], '75 and 87, or 25 and 12')
  t.same(both(p, offering({}, running)), [62, 37], '50 and 75, or 50 and 25')
  const weighted = [
    { name: 'cpu', weight: 3 },
    { name: 'memory', weight: 1 },
  ]
  t.same(both(p, offering({}, running), weighted), [56, 43])
  t.same(both(asking('p', { cpu: '4', memory: '8Gi' }), offering({})), [0, 100], 'all of it')
  t.same(both(asking('p', { cpu: '5', memory: '8Gi' }), offering({})), [0, 100], 'more than it has')
  t.same(both(pod('p'), offering({})), [97, 2], '0.1 processors and 200 MiB: 97 and 97, 2 and 2')
  t.same(both(pod('p'), offering({}, pod('a'))), [95, 4], 'those that run count alike')
  t.same(both(p, offering({ memory: '0' })), [75, 25], 'what is not offered counts for nothing')
  t.same(both(p, offering({ cpu: '0', memory: '0' })), [0, 0])
})

t.test('extended resources count only for who asks for them', async (t) => {
  const strategy = { type: 'LeastAllocated', resources: [...plain, gpu] }
  const at = offering({ [gpu.name]: '4' }, asking('other', { [gpu.name]: '1' }))
  const cpu = { cpu: '1900m', memory: '3896Mi' }
  t.equal(score(strategy, asking('p', cpu), at), 50)
  t.equal(score(strategy, asking('p', { ...cpu, [gpu.name]: '3' }), at), 33)
  t.equal(score(strategy, asking('p', { ...cpu, [gpu.name]: '1' }), offering({})), 52)
  const huge = { type: 'LeastAllocated', resources: [{ name: 'hugepages-2Mi', weight: 1 }] }
  const pages = offering({ 'hugepages-2Mi': '4Mi' })
  t.equal(score(huge, asking('p', { cpu: '1' }), pages), 0)
  t.equal(score(huge, asking('p', { 'hugepages-2Mi': '2Mi' }), pages), 50)
})

t.test('devices that stand for an extended resource count as it does', async (t) => {
  const at = offering({})
  const scoreWith = (devices: { offered: number; taken: number } | undefined) => {
    const view = viewOf([at], { devicesOn: () => devices })
    const p = asking('p', { [gpu.name]: '1' })
    return allocation({ type: 'MostAllocated', resources: [gpu] })(p, [at], view)
  }
  t.same(scoreWith({ offered: 4, taken: 1 }), [50])
  t.same(scoreWith({ offered: 0, taken: 0 }), [0])
  t.same(scoreWith(undefined), [0])
})

t.test('a shape is a line through its points', async (t) => {
  const along = (
    shape: ShapePoint[],
    cpu: string,
    resources: ResourceWeight[] = plain.slice(0, 1),
  ) => {
    const requestedToCapacityRatio = { shape }
    const strategy = { type: 'RequestedToCapacityRatio', resources, requestedToCapacityRatio }
    return score(strategy, asking('p', { cpu, memory: '3Gi' }), offering({}))
  }
  const rising = [
    { utilization: 20, score: 2 },
    { utilization: 60, score: 8 },
    { utilization: 70, score: 9 },
  ]
  const of = (...cpus: string[]) => cpus.map((cpu) => along(rising, cpu))
  t.same(
    of('400m', '800m', '840m', '1600m', '2400m', '2600m', '2800m', '4', '5'),
    [20, 20, 21, 50, 80, 85, 90, 90, 90],
  )
  const falling = [
    { utilization: 0, score: 10 },
    { utilization: 30, score: 0 },
  ]
  t.equal(along(falling, '400m'), 67, '100 - 33, cut towards zero')
  t.equal(along(falling, '3'), 0)
  const doubled = [
    { name: 'cpu', weight: 2 },
    { name: 'memory', weight: 1 },
  ]
  // Of memory 37 % are taken: 45 along the first.
  t.equal(along(rising, '1600m', doubled), 48, '145 / 3, rounded')
  t.equal(along(falling, '400m', doubled), 67, 'what scores nothing has no weight')
})

t.test('nodes that a Pod makes more even are better', async (t) => {
  const of = (p: Pod, at: NodeInfo, resources = plain) =>
    balanced(resources)(p, [at], viewOf([at]))?.[0]
  t.equal(of(asking('p', { cpu: '1', memory: '2Gi' }), offering({})), 75, 'as even as before')
  t.equal(of(asking('p', { cpu: '2' }), offering({})), 62, '100 and then 75')
  const taken = offering({}, asking('other', { cpu: '2' }))
  t.equal(of(asking('p', { memory: '4Gi' }), taken), 87, '75 and then 100')
  t.equal(of(asking('p', { cpu: '6' }), taken), 62, 'no more than all: 75 and then 50')
  t.equal(of(pod('p'), taken), undefined, 'nothing is asked for')
  t.equal(of(asking('p', { cpu: '1' }), offering({ memory: '0' })), 75, 'one alone is even')
  t.equal(of(asking('p', { cpu: '1' }), offering({ cpu: '0', memory: '0' })), 75, 'as is none')
  const three = [...plain, gpu]
  const gpus = offering({ [gpu.name]: '4' })
  // 1, 0 and 0.5 of them are taken: a deviation of 0.408.
  t.equal(of(asking('p', { cpu: '4', [gpu.name]: '2' }), gpus, three), 54)
  t.equal(of(asking('p', { cpu: '2' }), gpus, three), 62, 'nobody asks for the third')
})
