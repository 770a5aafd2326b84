/** Ends a watch early, as a fault rule asks for it (src/filters/faults.ts). */
import type { FastifyRequest } from 'fastify'
import { expired } from '#api/errors.js'
import type { ObjectEventBatch } from '#cacher/object-storage.js'

type WatchEnd = NonNullable<FastifyRequest['kube']['watchEnd']>

/** Yields `afterEvents` events; then it cuts the connection, or throws the 410 of a compacted history. */
export async function* endEarly(
  batches: AsyncIterator<ObjectEventBatch>,
  { afterEvents, cut }: WatchEnd,
): AsyncGenerator<ObjectEventBatch, void> {
  let left = afterEvents
  let seen = 0
  try {
    while (left > 0) {
      const { done, value: batch } = await batches.next()
      if (done === true) return
      const events = batch.events.slice(0, left)
      const last = events[events.length - 1]
      const isWhole = events.length === batch.events.length
      seen = isWhole ? batch.revision : last!.revision
      left -= events.length
      yield isWhole ? batch : { ...batch, events, revision: seen }
    }
  } finally {
    await batches.return?.()
  }
  if (cut === undefined) throw expired(`too old resource version: ${seen} (${seen + 1})`)
  cut()
}
