/** What a start writes, made again where its answer got lost: what is there already is left as it is. */
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '#limits'
import { StorageError } from '#storage/driver.js'

const lost: ReadonlySet<string> = new Set(['Unavailable', 'UnknownOutcome'])

const isLost = ({ cause }: Error): boolean => cause instanceof StorageError && lost.has(cause.code)

/** Rejects with what the last try failed with, when that was no matter of the connection, or time or patience are over. */
export const untilStored = async <T>(
  { signal }: { readonly signal: AbortSignal },
  make: () => Promise<T>,
): Promise<T> => {
  const end = performance.now() + limits.bootstrapMs
  for (;;) {
    try {
      return await make()
    } catch (error) {
      const isOver = signal.aborted || performance.now() > end
      if (isOver || !isLost(error as Error)) throw error
      await pause(limits.retryMs)
    }
  }
}
