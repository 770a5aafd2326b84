/** What must be done in the end is tried again, less and less often. */
import { sleep } from '#async/sleep.js'
import { Backoff } from '#client/backoff.js'

/** Resolves to false when the signal fires before `act` has succeeded. */
export const untilDone = async (
  act: () => Promise<unknown>,
  failed: (error: unknown) => void,
  { signal, retryMs }: { signal: AbortSignal; retryMs: { baseMs: number; maxMs: number } },
): Promise<boolean> => {
  const backoff = new Backoff(retryMs)
  while (!signal.aborted) {
    try {
      await act()
      return true
    } catch (error) {
      failed(error)
    }
    await sleep(backoff.next(), signal)
  }
  return false
}
