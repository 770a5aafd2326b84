/** Gives each Node the range of addresses that its Pods get theirs from; upstream's node-ipam-controller (RangeAllocator). */
import { isNotFound } from '#client/errors.js'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, newQueue, queueRun } from '../controller.js'
import { formatRange, parseRange, type Range, RangeParts } from './ranges.js'

const component = 'cidrAllocator'

const rangesOf = ({ spec }: Node): Range[] => (spec.podCIDRs ?? []).map(parseRange)

const assign = async (
  context: ControllerContext,
  node: Node,
  parts: readonly RangeParts[],
): Promise<void> => {
  const nodes = context.informers.for<Node>(resources.nodes)
  const podCIDRs: string[] = []
  for (const part of parts) {
    const range = part.next()
    if (range === undefined) {
      const message = `Node ${node.metadata.name} status is now: CIDRNotAvailable`
      context.recorder(component).event(node, 'Normal', 'CIDRNotAvailable', message)
      throw new Error('CIDR allocation failed; there are no remaining CIDRs left to allocate')
    }
    podCIDRs.push(formatRange(range))
  }
  const { name, uid } = node.metadata
  const spec = { podCIDR: podCIDRs[0], podCIDRs }
  try {
    nodes.observe(
      await context.client.patch<Node>(
        resources.nodes,
        { name },
        { metadata: { uid }, spec },
        { type: 'strategic' },
      ),
    )
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

export const nodeIpamController: Controller = {
  name: 'node-ipam-controller',
  serviceAccount: 'node-controller',
  start(context) {
    const { nodeCidrs } = context.settings
    if (nodeCidrs === undefined) return async () => {}
    const parts = nodeCidrs.cluster.map(parseRange).map((range) => {
      const { maskSize4, maskSize6 } = nodeCidrs
      return new RangeParts(range, range.family === 4 ? maskSize4 : maskSize6)
    })
    const held = new Map<string, readonly Range[]>()
    const hold = (name: string, ranges: readonly Range[]): void => {
      for (const part of parts) {
        for (const range of held.get(name) ?? []) part.release(range)
        for (const range of ranges) part.hold(range)
      }
      held.set(name, ranges)
    }
    hold('', nodeCidrs.reserved.map(parseRange))
    const nodes = context.informers.for<Node>(resources.nodes)
    const queue = newQueue(context, 'cidrallocator')
    const look = (node: Node): void => {
      hold(node.metadata.name, rangesOf(node))
      if ((node.spec.podCIDRs ?? []).length === 0) queue.add(node.metadata.name)
    }
    nodes.handle({
      onAdd: look,
      onUpdate: look,
      onDelete({ metadata: { name } }) {
        hold(name, [])
        held.delete(name)
      },
    })
    const sync = async (name: string): Promise<void> => {
      const node = nodes.store.get(name)
      if (node !== undefined && (node.spec.podCIDRs ?? []).length === 0)
        await assign(context, node, parts)
    }
    // One at a time: what is taken is what the Nodes say.
    return queueRun(context, queue, sync, 1)
  },
}
