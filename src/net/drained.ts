/** Waits for a client that does not read as fast as is written to it. */
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { limits } from '#limits'

/**
 * Undefined while the client keeps up. Rejects when the signal fires, but not for a client that goes: what its connection
 * failed with is nobody's to hear, and the signal follows.
 */
export const drained = (stream: Writable, signal: AbortSignal): Promise<unknown> | undefined =>
  stream.writableLength <= limits.clientSocketBytesMax
    ? undefined
    : once(stream, 'drain', { signal }).catch(() => signal.throwIfAborted())
