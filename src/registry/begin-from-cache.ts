/**
 * Writes to a shared store begin with what the cache holds, which spares asking the store first (apiserver, etcd3
 * GuaranteedUpdate and Delete with a cached object). The compare of the write tells whether that was right. An outcome
 * without a write (a refusal, or no change) may come from an old state: it counts only if the store itself has the same
 * version.
 */
import { type ObjectStorage, type StoredObject, WriteConflict } from '#cacher/object-storage.js'
import type { RequestContext } from './resource-definition.js'
import { consistent, type StoreDeps, write } from './store-base.js'

/**
 * Whether the writer works on what is known to be stored. True from its first write on: that succeeds, or returns what is
 * stored.
 */
export interface Basis {
  isCurrent: boolean
}

/**
 * `current` is undefined where there is no object. May be called a second time, after a failure, with what is stored
 * then.
 */
type Work<T> = (current: StoredObject | undefined, basis: Basis) => Promise<T>

export const beginFromCache = async <T>(
  deps: StoreDeps,
  ctx: Pick<RequestContext, 'dryRun' | 'caller'>,
  key: string,
  work: Work<T>,
): Promise<T> => {
  const { storage } = deps
  const read = () => write(deps, 'get', () => storage.get(key, consistent))
  const cached = ctx.dryRun ? undefined : cachedVersion(storage, key)
  const found = cached instanceof Promise ? await cached : cached
  // An object that could not be decrypted may be readable now.
  if (found === undefined || found.why !== undefined) return work(await read(), { isCurrent: true })
  if (storage.atHand !== undefined) return work(found, { isCurrent: true })
  const basis = { isCurrent: false }
  let failure: { error: unknown } | undefined
  let outcome: T | undefined
  try {
    outcome = await work(found, basis)
  } catch (error) {
    if (error instanceof WriteConflict) return work(error.current, { isCurrent: true })
    failure = { error }
  }
  if (!basis.isCurrent) {
    ctx.caller.signal.throwIfAborted()
    const fresh = await read()
    if (fresh?.revision !== found.revision) return work(fresh, { isCurrent: true })
  }
  if (failure !== undefined) throw failure.error
  return outcome as T
}

const cachedVersion = (storage: ObjectStorage, key: string) =>
  storage.atHand === undefined ? storage.get(key, { kind: 'any' }) : storage.atHand.get(key)
