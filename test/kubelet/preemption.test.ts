/** Who makes room for a critical Pod. */
import t from 'tap'
import { type NodeFacts, refusalsOf, type Shortage } from '#kubelet/admission.js'
import type { Pod, PodSpec } from '#kubelet/pod.js'
import { chooseVictims } from '#kubelet/preemption.js'
import { script, startNode } from './node.js'

const critical = 'system-cluster-critical'
const criticalPriority = 2_000_000_000

const asking = (requests: Record<string, string>, limits?: Record<string, string>) => ({
  resources: { requests, ...(limits ? { limits } : {}) },
})
const pod = (name: string, container: object = {}, spec: Partial<PodSpec> = {}): Pod =>
  ({
    metadata: { name, uid: name },
    spec: { containers: [{ name: 'c', ...container }], priority: 0, ...spec },
    status: { phase: 'Running' },
  }) as never
const node: NodeFacts = {
  name: 'n1',
  labels: {},
  taints: [],
  allocatable: { cpu: '2', memory: '1Gi', pods: '10' },
  hasStrictGroups: true,
}

t.test('the Pods that make room are of the lowest class that helps, few, and small', (t) => {
  const victimsOf = (needs: object, pods: Pod[], priority = criticalPriority) => {
    const one = pod('critical', needs, { priority })
    const shortages = refusalsOf(one, pods, node) as Shortage[]
    return chooseVictims(one, pods, shortages).map(({ metadata }) => metadata.name)
  }
  const idle = pod('idle')
  const small = pod('small', asking({ cpu: '300m' }))
  const middle = pod('middle', asking({ cpu: '400m' }))
  const large = pod('large', asking({ cpu: '900m' }))
  const sure = pod('sure', asking({ cpu: '400m', memory: '1Mi' }, { cpu: '400m', memory: '1Mi' }))
  const all = [idle, small, middle, large, sure]
  t.same(victimsOf(asking({ cpu: '300m' }), all), ['small'], 'one that is just enough')
  t.same(victimsOf(asking({ cpu: '700m' }), all), ['large'], 'rather than two')
  t.same(victimsOf(asking({ cpu: '1200m' }), all), ['large', 'small'])
  t.same(victimsOf(asking({ cpu: '1900m' }), all), ['large', 'middle', 'small', 'sure'])
  const full = Array.from({ length: 9 }, (_, i) => pod(`p${i}`, asking({ memory: `${i + 1}Mi` })))
  t.same(victimsOf({}, [...full, idle]), ['idle'], 'a place is what all have')
  t.end()
})

t.test('critical Pods make room for more important ones only', (t) => {
  const important = pod('important', asking({ cpu: '1' }), { priority: criticalPriority })
  const victims = (priority: number) => {
    const one = pod('critical', asking({ cpu: '1500m' }), { priority })
    return chooseVictims(one, [important], refusalsOf(one, [important], node) as Shortage[])
  }
  t.same(victims(criticalPriority + 1000), [important])
  t.throws(() => victims(criticalPriority), {
    message: 'no set of running pods found to reclaim resources: [(res: cpu, q: 500), ]',
  })
  t.end()
})

const storage = (amount: string) => asking({ 'ephemeral-storage': amount })
const running = ({ status }: Pod) => status?.phase === 'Running'
const hold = script('trap "exit 3" TERM; while :; do sleep 0.1; done')

t.test('a critical Pod takes the room of another, which ends as preempted', async (t) => {
  const { run, until, events } = await startNode(t)
  await run('other', { ...hold, ...storage('6Gi') }, { terminationGracePeriodSeconds: 20 })
  await until('other', running)
  await run('vital', { ...hold, ...storage('7Gi') }, { priorityClassName: critical })
  await until('vital', running)
  const message = 'Preempted in order to admit critical pod'
  const { status } = await until('other', (one) => one.status?.phase === 'Failed')
  t.match(status, {
    reason: 'Preempting',
    message,
    containerStatuses: [{ state: { terminated: { exitCode: 3 } } }],
  })
  t.match(
    status!.conditions!.find(({ type }) => type === 'DisruptionTarget'),
    {
      status: 'True',
      reason: 'TerminationByKubelet',
      message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
    },
  )
  t.match(
    (await events('other')).find(({ reason }) => reason === 'Preempting'),
    { type: 'Warning', message },
  )
  await run('huge', storage('11Gi'), { priorityClassName: critical })
  const refused = await until('huge', (one) => one.status?.phase === 'Failed')
  t.match(refused.status, {
    reason: 'UnexpectedAdmissionError',
    message:
      /^Pod was rejected: Unexpected error while .*: \[\(res: ephemeral-storage, q: \d+\), \]$/,
  })
})
