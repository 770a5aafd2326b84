/**
 * What may take only so long and ends with a signal that lives on. AbortSignal.any would leave something behind at that
 * signal each time, for as long as it lives (nodejs/node issue 54614; Node 20 does so).
 */
export const withinTime = async <T>(
  signal: AbortSignal,
  timeoutMs: number,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const own = new AbortController()
  const abort = (): void => own.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  const late = (): void => own.abort(new DOMException('it took too long', 'TimeoutError'))
  const timer = setTimeout(late, timeoutMs).unref()
  try {
    return await act(own.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
