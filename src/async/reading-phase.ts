/**
 * The phase of the event loop in which sockets are read. Large answers must be written there: Node takes what is written
 * later in a turn (setImmediate) for unsent while it reads the next request, and fails with one that is large (HPE_PAUSED).
 */
import { MessageChannel } from 'node:worker_threads'

// A message comes in this phase.
const { port1, port2 } = new MessageChannel()
let waiting: (() => void)[] = []
port2.on('message', () => {
  port2.unref()
  const begun = waiting
  waiting = []
  for (const goOn of begun) goOn()
})
port2.unref()

/**
 * Resolves in the next reading phase. All who wait in one turn go on in the next, one right after the other, in order.
 */
export const readingPhase = (): Promise<void> =>
  new Promise((goOn) => {
    if (waiting.push(goOn) > 1) return
    port2.ref()
    port1.postMessage(undefined)
  })

/**
 * Awaited between the steps of a write, so that writes of one phase take turns: all of them run one step while its code
 * is in the processor's caches, then the next.
 */
export const othersTurn: Promise<void> = Promise.resolve()
