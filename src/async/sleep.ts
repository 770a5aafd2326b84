/** Waits that a signal ends. */
import { setTimeout } from 'node:timers/promises'

/** Resolves after `ms`, or at once when the signal fires; never rejects. Without `ref` it keeps no process alive. */
export const sleep = async (
  ms: number,
  signal?: AbortSignal,
  { ref = true }: { readonly ref?: boolean } = {},
): Promise<void> => {
  try {
    await setTimeout(ms, undefined, { signal, ref })
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
