/** The kinds that quotas count by number, each followed from when a quota names it. */
import type { NamespacedObject } from '#api/object.js'
import type { DiscoveredResource } from '#client/discovery.js'
import type { Informer } from '#client/informer.js'
import type { ControllerContext } from '../controller.js'
import { metadataInformer } from '../metadata-informer.js'

interface Followed {
  informer: Informer<NamespacedObject>
  stop: AbortController
  running: Promise<void>
}

const keyOfKind = ({ group, resource }: DiscoveredResource): string => `${resource}.${group}`

export class CountedKinds {
  readonly #context: ControllerContext
  readonly #onDelete: (object: NamespacedObject) => void
  readonly #followed = new Map<string, Followed>()

  constructor(context: ControllerContext, onDelete: (object: NamespacedObject) => void) {
    this.#context = context
    this.#onDelete = onDelete
  }

  /** How many the namespace has. */
  async countIn(namespace: string, resource: DiscoveredResource): Promise<number> {
    const { informer } = this.#follow(resource)
    if (informer.hasSynced) return informer.store.byIndex('namespace', namespace).length
    const { items } = await this.#context.client.list(resource, { namespace, metadataOnly: true })
    return items.length
  }

  /** Lets go of kinds that the server has no more. */
  keepOnly(served: readonly DiscoveredResource[]): void {
    const keys = new Set(served.map(keyOfKind))
    for (const [key, { stop }] of this.#followed)
      if (!keys.has(key)) {
        stop.abort()
        this.#followed.delete(key)
      }
  }

  async close(): Promise<void> {
    const all = [...this.#followed.values()]
    for (const { stop } of all) stop.abort()
    await Promise.all(all.map(({ running }) => running))
  }

  #follow(resource: DiscoveredResource): Followed {
    const known = this.#followed.get(keyOfKind(resource))
    // In the version that the server prefers: another may be served no longer.
    if (known?.informer.ref.version === resource.version) return known
    known?.stop.abort()
    const stop = new AbortController()
    const informer = metadataInformer<NamespacedObject>(this.#context, resource)
    informer.store.addIndex('namespace', (object) => [object.metadata.namespace])
    informer.handle({ onDelete: this.#onDelete })
    const followed = { informer, stop, running: informer.run(stop.signal) }
    this.#followed.set(keyOfKind(resource), followed)
    return followed
  }
}
