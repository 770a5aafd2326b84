/** What V8 is told in the processes that live off the watch, however they were started. */
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import v8 from 'node:v8'

/**
 * What they keep is small beside the garbage that they make. A nursery that does not grow and a heap that is collected
 * before it does cost them a third of their memory less. Only flags that V8 still reads while it runs: it takes
 * --max-semi-space-size too late without a word, and crashes with --single-threaded-gc.
 */
const small = ['--semi-space-growth-factor=1', '--heap-growing-percent=10', '--optimize-for-size']

/** V8's defaults. Who has much to do would collect garbage for half of its time in a heap that is kept small. */
const roomy = ['--semi-space-growth-factor=2', '--heap-growing-percent=0', '--no-optimize-for-size']

const tell = (flags: readonly string[]): void => {
  for (const flag of flags) v8.setFlagsFromString(flag)
}

const lookMs = 500
/** Share of its time in which a process has something to do. */
const busyFrom = 0.5
/** Looks in a row that find a process busy, longer than it takes to start, before its heap may grow. */
const busyLooks = 4
/** Looks in a row that find it calm before the heap is kept small again. */
const calmLooks = 20

/** Call it first: a heap that has grown stays so. */
export const keepHeapSmall = (): void => {
  tell(small)
  let isSmall = true
  /** Looks in a row that speak for the other state. */
  let others = 0
  let seen: EventLoopUtilization = performance.eventLoopUtilization()
  const look = (): void => {
    const now = performance.eventLoopUtilization()
    const isBusy = performance.eventLoopUtilization(now, seen).utilization >= busyFrom
    seen = now
    others = isBusy === isSmall ? others + 1 : 0
    if (others < (isSmall ? busyLooks : calmLooks)) return
    isSmall = !isSmall
    others = 0
    tell(isSmall ? small : roomy)
  }
  setInterval(look, lookMs).unref()
}
