/** Looks until there is something to see: tests wait for what happens, never for a time. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Rejects with `what` when `look` yields nothing for `timeoutMs`. */
export const eventually = async <T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 120_000,
): Promise<T> => {
  const end = Date.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await sleep(20)
  }
}
