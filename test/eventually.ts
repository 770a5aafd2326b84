/** Looks until there is something to see: tests wait for what happens, never for a time. */
import { setTimeout as sleep } from 'node:timers/promises'

const late = Symbol('late')

/** Rejects with `what` when `look` yields nothing for `timeoutMs`, or does not come back. */
export const eventually = async <T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 120_000,
): Promise<T> => {
  const over = new AbortController()
  const end = sleep(timeoutMs, late, { signal: over.signal })
  end.catch(() => {})
  try {
    for (;;) {
      // The end first: a look that answers at once would always come before it.
      const found = await Promise.race([end, look()])
      if (found === late) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
      if (found) return found
      await sleep(20)
    }
  } finally {
    over.abort()
  }
}
