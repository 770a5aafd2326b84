/**
 * Acts with a signal of its own, which ends with `signal` or by `own`. Each AbortSignal.any would leave something behind
 * at a long-lived signal (nodejs/node issue 54614; Node 20 does so).
 */
export const withOwnSignal = async <T>(
  signal: AbortSignal,
  act: (own: AbortController) => Promise<T>,
): Promise<T> => {
  const own = new AbortController()
  const abort = (): void => own.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await act(own)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
