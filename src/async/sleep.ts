/** Waits that a signal ends. */
import { setTimeout } from 'node:timers/promises'
import { limits } from '#limits'

/**
 * Resolves after `ms` or some weeks, or at once when the signal fires; never rejects. Without `ref` it keeps no process
 * alive.
 */
export const sleep = async (
  ms: number,
  signal?: AbortSignal,
  { ref = true }: { readonly ref?: boolean } = {},
): Promise<void> => {
  try {
    await setTimeout(Math.min(ms, limits.timerMsMax), undefined, { signal, ref })
  } catch {
    // The caller looks at its signal.
  }
}

/** Resolves when the signal fires, at once when it has. */
export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** The result, unless the signal fires before: then it rejects with its reason, whatever becomes of the other. */
export const unlessAborted = <T>(result: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    void result.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
