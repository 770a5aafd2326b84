/** What a node takes: the same sums as the scheduler's, and the node that the Pod asks for. */
import t from 'tap'
import { resources } from '#client/resources.js'
import { type NodeFacts, type Refusal, refusalsOf } from '#kubelet/admission.js'
import type { Pod, PodSpec } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { script, startNode } from './node.js'

const node: NodeFacts = {
  name: 'n1',
  labels: { disk: 'ssd' },
  taints: [],
  allocatable: { cpu: '2', memory: '1Gi', 'ephemeral-storage': '10Gi', pods: '3' },
  hasStrictGroups: true,
}
const refusalOf = (...args: Parameters<typeof refusalsOf>): Refusal | undefined =>
  refusalsOf(...args)[0]
const pod = (uid: string, spec: Partial<PodSpec>, phase = 'Running'): Pod =>
  ({ metadata: { name: uid, uid }, spec: { containers: [], ...spec }, status: { phase } }) as never
const asking = (requests: Record<string, string>, more: Partial<PodSpec> = {}) => ({
  containers: [{ name: 'c', resources: { requests } }],
  ...more,
})

t.test('a Pod is refused for what it and the others ask for together, overhead included', (t) => {
  const others = [
    pod('a', asking({ cpu: '1500m' })),
    pod('b', asking({ cpu: '1' }), 'Succeeded'),
    pod('new', asking({ cpu: '500m' })),
  ]
  t.equal(refusalOf(pod('new', asking({ cpu: '500m' })), others, node), undefined)
  t.match(
    refusalOf(pod('new', asking({ cpu: '499m' }, { overhead: { cpu: '2m' } })), others, node),
    {
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
    },
  )
  const whole = { resources: { requests: { memory: '2Gi' } } }
  t.match(refusalOf(pod('new', asking({ memory: '1Mi' }, whole)), others, node), {
    reason: 'OutOfmemory',
    message: /requested: 2147483648, used: 0, capacity: 1073741824$/,
  })
  t.match(refusalOf(pod('new', asking({ 'ephemeral-storage': '11Gi' })), others, node), {
    reason: 'OutOfephemeral-storage',
  })
  const full = [pod('a', {}), pod('b', {}), pod('c', {})]
  t.match(refusalOf(pod('new', {}), full, node), {
    reason: 'OutOfpods',
    message: /requested: 1, used: 3, capacity: 3$/,
  })
  t.end()
})

t.test('a Pod is refused by a node that it does not want', (t) => {
  const toNode = (name: string): Partial<PodSpec> => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] },
          ],
        },
      },
    },
  })
  t.equal(refusalOf(pod('p', { nodeSelector: { disk: 'ssd' } }), [], node), undefined)
  t.equal(refusalOf(pod('p', toNode('n1')), [], node), undefined)
  for (const spec of [{ nodeSelector: { disk: 'hdd' } }, toNode('n2')])
    t.equal(refusalOf(pod('p', spec), [], node)?.reason, 'NodeAffinity')
  t.end()
})

t.test('a Pod of another operating system is turned away', (t) => {
  const os = 'plan9'
  t.match(refusalOf(pod('new', { os: { name: os } }), [], node), { reason: 'PodOSNotSupported' })
  const labelled = pod('new', {})
  labelled.metadata.labels = { 'kubernetes.io/os': os }
  t.match(refusalOf(labelled, [], node), { reason: 'PodOSSelectorNodeLabelDoesNotMatch' })
  t.end()
})

t.test('a port of the node is for one Pod', (t) => {
  const holding = (hostPort: number, hostIP?: string, phase?: string): Pod => {
    const ports = [{ containerPort: 80, hostPort, ...(hostIP ? { hostIP } : {}) }]
    return pod(`${hostPort}${hostIP}`, { containers: [{ name: 'c', ports }] }, phase)
  }
  t.match(refusalOf(holding(80, '10.0.0.1'), [holding(80)], node), {
    reason: 'NodePorts',
    message:
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  })
  const others = [holding(81), holding(80, '10.0.0.2'), holding(80, '', 'Succeeded')]
  t.equal(refusalOf(holding(80, '10.0.0.1'), others, node), undefined)
  t.end()
})

t.test('of several reasons the first is told, in the order of upstream', (t) => {
  const taints = [{ key: 'gone', effect: 'NoExecute' }]
  const ports = [{ containerPort: 80, hostPort: 80 }]
  const holding = pod('a', { containers: [{ name: 'c', ports }] })
  const wanting: Partial<PodSpec> = {
    nodeSelector: { disk: 'hdd' },
    containers: [{ name: 'c', ports, resources: { requests: { cpu: '3' } } }],
  }
  const reasonOf = (spec: Partial<PodSpec>) =>
    refusalOf(pod('new', spec), [holding], { ...node, taints })?.reason
  t.equal(reasonOf(wanting), 'OutOfcpu')
  const small = { ...wanting, containers: [{ name: 'c', ports }] }
  t.equal(reasonOf(small), 'NodeAffinity')
  t.equal(reasonOf({ containers: small.containers }), 'NodePorts')
  t.equal(reasonOf({}), 'TaintToleration')
  t.equal(reasonOf({ tolerations: [{ key: 'gone', operator: 'Exists' }] }), undefined)
  const noSchedule = [{ key: 'gone', effect: 'NoSchedule' }]
  t.equal(refusalOf(pod('new', {}), [], { ...node, taints: noSchedule }), undefined)
  t.end()
})

t.test(
  'a node whose taint drives Pods away takes none that is bound to it past the scheduler',
  async (t) => {
    const { client, run, until } = await startNode(t)
    await run('before', script('exec sleep 1000'))
    await until('before', ({ status }) => status?.phase === 'Running')
    const taint = async (taints: object[]) => {
      await client.patch(
        resources.nodes,
        { name: 'node-1' },
        { spec: { taints } },
        { type: 'merge' },
      )
    }
    await taint([{ key: 'leave', effect: 'NoExecute' }])
    let tries = 0
    // The kubelet looks at its Node now and then.
    const refused = await eventually('a Pod that is refused', async () => {
      const name = `p-${tries++}`
      await run(name, script('exec sleep 1000'))
      const { status } = await until(name, (one) => one.status?.phase !== 'Pending')
      return status!.phase === 'Failed' && status
    })
    t.match(refused, {
      reason: 'TaintToleration',
      message:
        "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    })
    t.equal((await until('before', () => true)).status!.phase, 'Running')
    await taint([])
    await run('after', script('exec sleep 1000'))
    await until('after', ({ status }) => status?.phase === 'Running')
  },
)
