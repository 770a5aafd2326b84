/** Removes Pods whose node will not do it; upstream's pod-garbage-collector-controller. */
import { isNotFound, messageOf } from '#client/errors.js'
import { isPodTerminal, type Node, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { type Controller, type ControllerContext, lookingRun } from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { patchPodStatus } from '../pods/conditions.js'
import { type Doomed, findDoomed } from './reconcile.js'

/** A node has to be missing this long before it counts as gone; upstream's quarantineTime. */
const quarantineMs = 40_000

class PodGarbageCollector {
  readonly #context: ControllerContext
  /** Missing nodes, since when (ms). */
  readonly #missing = new Map<string, number>()

  constructor(context: ControllerContext) {
    this.#context = context
  }

  async round(): Promise<void> {
    const { informers, settings } = this.#context
    const pods = informers.for<Pod>(resources.pods).store.list()
    const nodes = new Map(
      informers
        .for<Node>(resources.nodes)
        .store.list()
        .map((n) => [n.metadata.name, n]),
    )
    const doomed = findDoomed({
      pods,
      nodes,
      absentNodes: await this.#absentNodes(pods, nodes),
      terminatedThreshold: settings.terminatedPodGcThreshold,
    })
    for (const entry of doomed) await this.#remove(entry)
  }

  async #absentNodes(pods: readonly Pod[], nodes: ReadonlyMap<string, Node>): Promise<Set<string>> {
    const { client, clock, log } = this.#context
    const now = clock.now()
    const named = new Set(pods.flatMap(({ spec }) => spec.nodeName || []))
    for (const name of this.#missing.keys())
      if (nodes.has(name) || !named.has(name)) this.#missing.delete(name)
    const absent = new Set<string>()
    for (const name of named) {
      if (nodes.has(name)) continue
      const since = this.#missing.get(name) ?? now
      this.#missing.set(name, since)
      if (now - since < quarantineMs) continue
      try {
        await client.get(resources.nodes, { name })
      } catch (error) {
        if (isNotFound(error)) absent.add(name)
        else log.info({ node: name, error: messageOf(error) }, 'node was not looked up')
      }
    }
    return absent
  }

  /** The phase first: a Pod that vanishes while it counts as running would be lost to its Job. */
  async #remove({ pod, condition }: Doomed): Promise<void> {
    const { log } = this.#context
    const { namespace, name } = pod.metadata
    try {
      // A Pod that had ended before was not disrupted.
      if (!isPodTerminal(pod))
        await patchPodStatus(this.#context, pod, {
          phase: 'Failed',
          ...(condition
            ? { condition: { type: 'DisruptionTarget', status: 'True', ...condition } }
            : {}),
        })
      await deleteObject(this.#context, resources.pods, pod, { gracePeriodSeconds: 0 })
    } catch (error) {
      if (!isNotFound(error))
        log.info({ pod: `${namespace}/${name}`, error: messageOf(error) }, 'pod was not collected')
    }
  }
}

export const podGcController: Controller = {
  name: 'pod-garbage-collector-controller',
  serviceAccount: 'pod-garbage-collector',
  start(context) {
    context.informers.for<Pod>(resources.pods)
    context.informers.for<Node>(resources.nodes)
    const collector = new PodGarbageCollector(context)
    return lookingRun(context, context.settings.podGcPeriodMs, () => collector.round())
  },
}
