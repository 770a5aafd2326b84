import { withOwnSignal } from './own-signal.js'

/** What may take only so long and ends with a signal that lives on. */
export const withinTime = <T>(
  signal: AbortSignal,
  timeoutMs: number,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withOwnSignal(signal, async (own) => {
    const late = (): void => own.abort(new DOMException('it took too long', 'TimeoutError'))
    const timer = setTimeout(late, timeoutMs).unref()
    try {
      return await act(own.signal)
    } finally {
      clearTimeout(timer)
    }
  })
