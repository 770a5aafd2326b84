/** Retries writes of the start whose outcome is unknown. */
import { ApiError } from '#api/errors.js'
import { sleep } from '#async/sleep.js'
import { limits } from '#limits'
import { StorageError } from '#storage/driver.js'

const lost: ReadonlySet<string> = new Set(['Unavailable', 'UnknownOutcome'])

const isLost = (error: Error): boolean => {
  const { cause = error } = error
  return cause instanceof StorageError && lost.has(cause.code)
}

/**
 * Rejects with the last error: one that has nothing to do with the connection, or the newest when the signal has fired
 * or the time is over.
 */
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
      await sleep(limits.retryMs, signal)
    }
  }
}

/**
 * Objects that the server keeps for others: if admission, say, refuses one, that is logged and the server starts all the
 * same, as upstream.
 */
export const unlessRefused = async (
  log: (message: string, error: unknown) => void,
  what: string,
  keep: () => Promise<void>,
): Promise<void> => {
  try {
    await keep()
  } catch (error) {
    if (!(error instanceof ApiError) || error.cause instanceof StorageError) throw error
    log(`${what} is not kept`, error)
  }
}
