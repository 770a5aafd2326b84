/** Controllers wait while an informer does not follow the server, because its watch is broken. */
import type { Informer } from '#client/informer.js'
import type { SyncResult } from '#client/work-queue.js'

const retryMs = 100

export const lookAgainSoon: SyncResult = Promise.resolve({ afterMs: retryMs })

/**
 * Delays `sync` while `informer` is blind. After an outage watches resume one after the other: an owner that is synced
 * before its objects are known would get duplicates, or lose Pods in the wrong order.
 */
export const whileSeeing =
  (informer: Pick<Informer, 'blindMs'>, sync: (key: string) => SyncResult) =>
  (key: string): SyncResult =>
    informer.blindMs === 0 ? sync(key) : lookAgainSoon
