/** Notices that something in a folder changes. */
import { type FSWatcher, watch } from 'node:fs'
import { withOwnSignal } from '#async/own-signal.js'

/** Time for a file that is written in several pieces. */
const settleMs = 100

interface FollowOptions {
  /** The folder, or the file, and others that must be watched with it; asked again after each change. */
  readonly paths: () => readonly string[]
  /** Looks at least this often. */
  readonly checkMs: number
  readonly signal: AbortSignal
}

/** Calls `look` at once, now and then, and soon after something has changed; until the signal fires. */
export const followFolder = async (
  look: () => Promise<void>,
  { paths, checkMs, signal }: FollowOptions,
): Promise<void> => {
  while (!signal.aborted) {
    await withOwnSignal(signal, async (again) => {
      const watched = paths()
      // Changes during the call are noticed, too.
      const change = nextChange(watched, checkMs, again.signal)
      await look()
      if (paths().join('\0') !== watched.join('\0')) again.abort()
      await change
    })
  }
}

const nextChange = (
  paths: readonly string[],
  checkMs: number,
  signal: AbortSignal,
): Promise<void> =>
  new Promise((resolve) => {
    const latest = setTimeout(done, checkMs)
    let settled: NodeJS.Timeout | undefined
    const watchers: FSWatcher[] = []
    function done(): void {
      clearTimeout(latest)
      clearTimeout(settled)
      for (const watcher of watchers) watcher.close()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const changed = (): void => {
      clearTimeout(settled)
      settled = setTimeout(done, settleMs)
    }
    signal.addEventListener('abort', done)
    for (const path of paths) {
      try {
        const watcher = watch(path, changed)
        watcher.on('error', () => {})
        watchers.push(watcher)
      } catch {
        // It may be made later.
      }
    }
  })
