/** Resources that somebody adds to a node's capacity (Kubernetes' task "Advertise Extended Resources for a Node"). */
import t from 'tap'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { script, sleepFor, startNode } from './node.js'

t.test(
  'what is added to the capacity of a node can be asked for, until it is taken away',
  async (t) => {
    const { client, run, ready, delete: remove, gone } = await startNode(t)
    const name = 'node-1'
    const tell = (dongles: string | null) =>
      client.patch(
        resources.nodes,
        { name },
        { status: { capacity: { 'example.com/dongle': dongles } } },
        { type: 'strategic', subresource: 'status' },
      )
    const allocatable = async () =>
      (await client.get<Node>(resources.nodes, { name })).status?.allocatable ?? {}
    await tell('4')
    await eventually('they are allocatable', async () => {
      const { 'example.com/dongle': dongles } = await allocatable()
      return dongles === '4'
    })
    const asked = { 'example.com/dongle': '3' }
    await run('p', { ...script(`sleep ${sleepFor(821)}`), resources: { limits: asked } })
    await ready('p')
    await remove('p', 0)
    await gone('p')
    await tell(null)
    await eventually('they are gone', async () => !('example.com/dongle' in (await allocatable())))
    t.ok((await allocatable()).cpu)
  },
)
