import t from 'tap'
import type { PodStatus } from '#client/pod.js'
import { leavesRoom } from '#scheduler/waking-changes.js'
import { cpu, info, node, pod, why } from './small-cluster.js'

const status = (allocated: string, conditions: PodStatus['conditions'] = []): PodStatus => {
  const requests = { cpu: allocated }
  return {
    conditions,
    containerStatuses: [{ name: 'c', resources: { requests }, allocatedResources: requests }],
  }
}
const infeasible = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }]

t.test('a Pod that is resized takes the most of what it asks for, was allocated and has', (t) => {
  const other = (amount: string, its: PodStatus) => ({ ...pod('other', cpu(amount)), status: its })
  const refusal = (asking: string, its: PodStatus) =>
    why(pod('p', cpu('2')), info(node('n'), other(asking, its)))
  t.equal(refusal('1', status('3')), 'Insufficient cpu', 'not given back yet')
  t.equal(refusal('3', status('1')), 'Insufficient cpu', 'not granted yet')
  t.equal(refusal('2', status('2')), undefined)
  t.equal(refusal('3', status('1', infeasible)), undefined, 'never granted')
  const ofPod = { ...pod('other', { ...cpu('1'), resources: { requests: { cpu: '1' } } }) }
  ofPod.status = { resources: { requests: { cpu: '3' } }, allocatedResources: { cpu: '1' } }
  t.equal(why(pod('p', cpu('2')), info(node('n'), ofPod)), 'Insufficient cpu')
  const odd = status('3')
  odd.containerStatuses![0]!.allocatedResources = { constructor: '1', cpu: '3' } as never
  t.equal(refusal('1', odd), 'Insufficient cpu', 'whatever else its kubelet tells of')

  t.notOk(leavesRoom(other('1', status('3')), other('3', status('3'))), 'asks for less')
  t.ok(leavesRoom(other('1', status('1')), other('1', status('3'))), 'has less')
  t.end()
})
