/** What controllers do while an informer does not follow the server, because its watch broke. */
import type { Informer } from '#client/informer.js'
import type { SyncResult } from '#client/work-queue.js'

const retryMs = 100

export const lookAgainSoon: SyncResult = Promise.resolve({ afterMs: retryMs })

/**
 * `sync`, put off while `informer` is blind. Watches come back one after the other when a server was away: an owner
 * that is heard of again before what it owns would get what it has already, or lose its Pods in the wrong order.
 */
export const whileSeeing =
  (informer: Pick<Informer, 'blindMs'>, sync: (key: string) => SyncResult) =>
  (key: string): SyncResult =>
    informer.blindMs === 0 ? sync(key) : lookAgainSoon
