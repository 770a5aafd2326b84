/**
 * Tells kubelets by an annotation of their Node how long they may keep what they read, which grows with the cluster;
 * upstream's ttl-controller.
 */
import { isNotFound } from '#client/errors.js'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type Controller, newQueue, queueRun, syncStored } from '../controller.js'

const annotation = 'node.alpha.kubernetes.io/ttl'

/** Each step is left downwards only some way below where it is entered, so that it does not flap. */
const steps = [
  { sizeMin: 0, sizeMax: 100, seconds: 0 },
  { sizeMin: 90, sizeMax: 500, seconds: 15 },
  { sizeMin: 450, sizeMax: 1000, seconds: 30 },
  { sizeMin: 900, sizeMax: 2000, seconds: 60 },
  { sizeMin: 1800, sizeMax: Number.POSITIVE_INFINITY, seconds: 300 },
] as const

/** The step that a cluster of that size is at, coming from another. */
export const ttlStep = (size: number, from: number): number => {
  let step = from
  while (size > steps[step]!.sizeMax) step++
  while (size < steps[step]!.sizeMin) step--
  return step
}

export const ttlController: Controller = {
  name: 'ttl-controller',
  start(context) {
    const { client, informers } = context
    const nodes = informers.for<Node>(resources.nodes)
    const queue = newQueue(context, 'ttlcontroller')
    let step = 0
    const look = (): void => {
      const next = ttlStep(nodes.store.size, step)
      if (next === step) return
      step = next
      for (const name of nodes.store.keys()) queue.add(name)
    }
    nodes.handle({
      onAdd(node) {
        look()
        queue.add(node.metadata.name)
      },
      onUpdate: (node) => queue.add(node.metadata.name),
      onDelete: look,
    })
    return queueRun(
      context,
      queue,
      syncStored(nodes, async ({ metadata }) => {
        const wanted = String(steps[step]!.seconds)
        if (metadata.annotations?.[annotation] === wanted) return
        try {
          const patch = { metadata: { uid: metadata.uid, annotations: { [annotation]: wanted } } }
          nodes.observe(
            await client.patch<Node>(resources.nodes, { name: metadata.name }, patch, {
              type: 'merge',
            }),
          )
        } catch (error) {
          if (!isNotFound(error)) throw error
        }
      }),
    )
  },
}
