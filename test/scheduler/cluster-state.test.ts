/** What the scheduler remembers of nodes and their Pods. */
import t from 'tap'
import { ObjectStore } from '#client/object-store.js'
import { ClusterState } from '#scheduler/cluster-state.js'
import { cpu, node, pod } from './small-cluster.js'

t.test('nothing is left of a node that is gone, or never was, once its Pods are gone', (t) => {
  const state = new ClusterState(new ObjectStore(), new ObjectStore())
  state.setPod(pod('lost', cpu('1')), 'never-there')
  state.removePod('ns/lost')
  t.equal(state.info('never-there'), undefined)

  state.setNode(node('n'))
  state.setPod(pod('late', cpu('1')), 'n')
  state.removeNode('n')
  t.equal(state.info('n')?.pods.size, 1, 'the Pod is still to end')
  state.setNode(node('n'))
  t.equal(
    state.viewFor(pod('p')).nodes[0]?.requested.get('cpu'),
    1000n,
    'and takes room of the next',
  )
  state.removeNode('n')
  state.removePod('ns/late')
  t.equal(state.info('n'), undefined)

  state.setNode(node('m'))
  state.setPod(pod('p'), 'm')
  state.removePod('ns/p')
  t.ok(state.info('m'), 'a node without Pods stays')
  t.end()
})

t.test('each decision begins at another node, and behind those that were looked at', async (t) => {
  const state = new ClusterState(new ObjectStore(), new ObjectStore())
  for (const name of ['a', 'b', 'c', 'd', 'e']) state.setNode(node(name))
  const names: string[] = []
  for (const count of [5, 2, 2, 5, 0]) {
    const { nodes, lookedAt } = state.viewFor(pod('p'))
    names.push(nodes.map((one) => one.node!.metadata.name).join(''))
    if (count > 0) lookedAt?.(count)
  }
  t.same(names, ['abcde', 'bcdea', 'deabc', 'abcde', 'bcdea'])
})
