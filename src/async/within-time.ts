import { withOwnSignal } from './own-signal.js'
import { setTimer } from './set-timer.js'

/** Runs `act` with a signal of its own, which fires after `timeoutMs` (or some weeks) or with `signal`. */
export const withinTime = <T>(
  signal: AbortSignal,
  timeoutMs: number,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withOwnSignal(signal, async (own) => {
    const late = (): void => own.abort(new DOMException('it took too long', 'TimeoutError'))
    const timer = setTimer(late, timeoutMs).unref()
    try {
      return await act(own.signal)
    } finally {
      clearTimeout(timer)
    }
  })
