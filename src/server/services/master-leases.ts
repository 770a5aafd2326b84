/**
 * Which servers of a shared store are alive: one object for each address, which the store removes unless it is renewed
 * (kubernetes, pkg/controlplane/reconcilers/lease.go). kube-apiservers use the same keys.
 */
import type { KubeObject } from '#api/object.js'
import { type ObjectStorage, WriteConflict } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { changeObject } from '#registry/change-object.js'

export const masterLeasesPrefix = '/registry/masterleases/'

export class MasterLeases {
  readonly #storage: ObjectStorage

  /** `storage` holds the keys under the prefix. */
  constructor(storage: ObjectStorage) {
    this.#storage = storage
  }

  async renew(ip: string): Promise<void> {
    const lease = (current: KubeObject | undefined): KubeObject => ({
      kind: 'Endpoints',
      apiVersion: 'v1',
      // An unchanged object would not be written, and so not renewed.
      metadata: { generation: (current?.metadata.generation ?? 0) + 1 },
      subsets: [{ addresses: [{ ip }] }],
    })
    const ttlSeconds = limits.masterLeaseSeconds
    await changeObject(this.#storage, this.#keyOf(ip), lease, { ttlSeconds })
  }

  async list(): Promise<string[]> {
    const selection = { prefix: masterLeasesPrefix }
    const { items } = await this.#storage.list({
      selection,
      consistency: { kind: 'any' },
      limit: 0,
    })
    return items.flatMap(({ object }) => object.subsets?.[0]?.addresses?.[0]?.ip ?? [])
  }

  async remove(ip: string): Promise<void> {
    let lease = await this.#storage.get(this.#keyOf(ip), { kind: 'any' })
    while (lease !== undefined) {
      try {
        await this.#storage.delete(lease)
        return
      } catch (error) {
        if (!(error instanceof WriteConflict)) throw error
        lease = error.current
      }
    }
  }

  #keyOf(ip: string): string {
    return masterLeasesPrefix + ip
  }
}
