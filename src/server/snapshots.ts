/** Snapshots of one server: those that an embedder holds, and those with a name, for clients over HTTP. */
import { internalError, invalid, notFound, requestEntityTooLarge } from '#api/errors.js'
import { tooMany } from '#api/field-error.js'
import { limits } from '#limits'
import type { NamedSnapshot, NamedSnapshots } from '#routes/kubelevel/snapshots.js'
import { StorageError } from '#storage/driver.js'
import type { Restored, StoreSnapshot } from '#storage/snapshot.js'
import type { RegistryStores } from './registry-stores.js'

/** Everything that a server stored at one revision. It can be restored on that server only. */
export interface Snapshot {
  readonly revision: number
  readonly objects: number
  readonly bytes: number
}

const resource = { group: '', resource: 'snapshots' }

const refusal = (error: unknown): unknown => {
  if (!(error instanceof StorageError)) return error
  const { code, message } = error
  return code === 'TooLarge'
    ? requestEntityTooLarge(limits.snapshotBytesMax)
    : internalError(message, { cause: error })
}

export class Snapshots implements NamedSnapshots {
  readonly #stores: Pick<RegistryStores, 'takeSnapshot' | 'restoreSnapshot'>
  /** Weak, so that the stored values go with the snapshot when nobody holds it any more. */
  readonly #taken = new WeakMap<Snapshot, StoreSnapshot>()
  readonly #named = new Map<string, Snapshot>()
  /** Restores run one after the other: two at once would mix. */
  #restoring: Promise<unknown> = Promise.resolve()
  /**
   * So do named snapshots. Each holds the whole store before it has its name, so the bound has to count all that are
   * being taken.
   */
  #putting: Promise<unknown> = Promise.resolve()

  constructor(stores: Pick<RegistryStores, 'takeSnapshot' | 'restoreSnapshot'>) {
    this.#stores = stores
  }

  readonly take = async (): Promise<Snapshot> => {
    const stored = await this.#stores.takeSnapshot()
    const { revision, bytes, values } = stored
    const snapshot = Object.freeze({ revision, objects: values.size, bytes })
    this.#taken.set(snapshot, stored)
    return snapshot
  }

  readonly restore = async (snapshot: Snapshot): Promise<Restored> => {
    const stored = this.#taken.get(snapshot)
    if (stored === undefined) throw new Error('this snapshot was not taken of this server')
    const restored = this.#restoring.then(() => this.#stores.restoreSnapshot(stored))
    this.#restoring = restored.catch(() => {})
    return restored
  }

  list(): NamedSnapshot[] {
    return [...this.#named].map(([name, snapshot]) => ({ name, ...snapshot }))
  }

  put(name: string): Promise<NamedSnapshot> {
    const put = this.#putting.then(() => this.#put(name))
    this.#putting = put.catch(() => {})
    return put
  }

  async #put(name: string): Promise<NamedSnapshot> {
    const count = this.#named.size + (this.#named.has(name) ? 0 : 1)
    if (count > limits.snapshotsMax)
      throw invalid({ group: '', kind: 'Snapshot' }, name, [
        tooMany('snapshots', count, limits.snapshotsMax),
      ])
    const snapshot = await this.take().catch((error) => {
      throw refusal(error)
    })
    this.#named.set(name, snapshot)
    return { name, ...snapshot }
  }

  async restoreNamed(name: string): Promise<Restored> {
    const snapshot = this.#find(name)
    return this.restore(snapshot).catch((error) => {
      throw refusal(error)
    })
  }

  delete(name: string): NamedSnapshot {
    const snapshot = this.#find(name)
    this.#named.delete(name)
    return { name, ...snapshot }
  }

  #find(name: string): Snapshot {
    const snapshot = this.#named.get(name)
    if (snapshot === undefined) throw notFound(resource, name)
    return snapshot
  }
}
