import { limits } from '#limits'

/**
 * Calls `act` after `ms`, or after some weeks if that is sooner: Node takes a longer delay for one of 1 ms, and flags and
 * objects may ask for years. Whoever means more than weeks looks at the time again.
 */
export const setTimer = (act: () => void, ms: number): NodeJS.Timeout =>
  setTimeout(act, Math.min(ms, limits.timerMsMax))
