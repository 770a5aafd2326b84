/** What can be seen of a namespace: every kind that its controllers write, and when the last of it changed. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { NamespacedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { InformerFactory } from '#client/informer-factory.js'
import { silentLog } from '#client/log.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'

const kinds: readonly ResourceRef[] = [
  resources.pods,
  resources.services,
  resources.endpoints,
  resources.resourceQuotas,
  resources.replicationControllers,
  resources.persistentVolumeClaims,
  resources.events,
  resources.endpointSlices,
  resources.replicaSets,
  resources.deployments,
  resources.statefulSets,
  resources.daemonSets,
  resources.controllerRevisions,
  resources.jobs,
  resources.cronJobs,
  resources.podDisruptionBudgets,
]

/** By kind. */
export type State = Record<string, NamespacedObject[]>

/** How long nothing changes before a namespace counts as settled, and how long that is waited for. */
interface Patience {
  readonly quietMs: number
  readonly atMostMs: number
}

/** Follows all namespaces of a cluster, until `signal`. */
export class Observed {
  readonly #client: Client
  readonly #informers: InformerFactory
  /** When each namespace changed last, of performance.now. */
  readonly #changed = new Map<string, number>()

  constructor(client: Client) {
    this.#client = client
    this.#informers = new InformerFactory({ client, log: silentLog })
  }

  /** `onPod` is told of each Pod that is new or has changed. */
  async start(signal: AbortSignal, onPod: (pod: Pod) => void): Promise<void> {
    const note = ({ metadata }: NamespacedObject): void => {
      this.#changed.set(metadata.namespace, performance.now())
    }
    for (const ref of kinds)
      this.#informers
        .for<NamespacedObject>(ref)
        .handle({ onAdd: note, onUpdate: note, onDelete: note })
    this.#informers.for<Pod>(resources.pods).handle({ onAdd: onPod, onUpdate: onPod })
    await this.#informers.start(signal)
  }

  stopped(): Promise<unknown> {
    return this.#informers.stopped()
  }

  async settled(namespace: string, { quietMs, atMostMs }: Patience): Promise<void> {
    const begun = performance.now()
    for (;;) {
      const since = Math.max(begun, this.#changed.get(namespace) ?? 0)
      const now = performance.now()
      if (now - since >= quietMs || now - begun >= atMostMs) return
      await sleep(since + quietMs - now)
    }
  }

  async read(namespace: string): Promise<State> {
    const lists = await Promise.all(
      kinds.map(async (ref) => {
        const { items } = await this.#client.list<NamespacedObject>(ref, { namespace })
        return [ref.kind, items] as const
      }),
    )
    return Object.fromEntries(lists)
  }
}
