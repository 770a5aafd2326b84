/** What a start writes, made again where its answer got lost: what is there already is left as it is. */
import { ApiError } from '#api/errors.js'
import { sleep } from '#api/sleep.js'
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
      await sleep(limits.retryMs, signal)
    }
  }
}

/** What is refused of all that a server keeps for others is no reason not to serve, as upstream, whose controllers say so and go on. */
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
