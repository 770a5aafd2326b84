/** What a node takes: the same sums as the scheduler's, and the node that the Pod asks for. */
import t from 'tap'
import { type NodeFacts, refusalOf } from '#kubelet/admission.js'
import type { Pod, PodSpec } from '#kubelet/pod.js'

const node: NodeFacts = {
  name: 'n1',
  labels: { disk: 'ssd' },
  allocatable: { cpu: '2', memory: '1Gi', 'ephemeral-storage': '10Gi', pods: '3' },
}
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
  t.same(
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
