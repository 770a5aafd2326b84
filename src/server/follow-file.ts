/** A file of configuration that may change while the server runs (apiserver, pkg/util/filesystem: WatchUntil). */
import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { limits } from '#limits'

/** Nothing is wrong with the text itself: it is passed again the next time that the file is looked at. */
export class NotYetUsable extends Error {}

interface FollowedFile {
  readonly file: string
  /** As it was read at the start. */
  readonly text: string
  /** Called with each new text. An error is logged, and the same text is not passed again, unless it is NotYetUsable. */
  take(text: string): Promise<void>
  readonly warn: (error: unknown) => void
}

/** Undefined where the system has no watcher left, say: then it is looked at now and then alone. */
const watched = (folder: string, changed: (name: string | null) => void): FSWatcher | undefined => {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => changed(name))
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}

/**
 * Reads the file when its folder reports a change, and now and then, because some file systems report nothing. Stops when
 * the returned function is called.
 */
export const followFile = ({ file, text, take, warn }: FollowedFile): (() => Promise<void>) => {
  let known = text
  let isStopped = false
  const look = async (): Promise<void> => {
    if (isStopped) return
    try {
      const found = await readFile(file, 'utf8')
      if (found === known) return
      const before = known
      known = found
      await take(found).catch((error: unknown) => {
        if (error instanceof NotYetUsable) known = before
        throw error
      })
    } catch (error) {
      warn(error)
    }
  }
  let looking = Promise.resolve()
  const lookAgain = (): void => {
    looking = looking.then(look)
  }
  const timer = setInterval(lookAgain, limits.configurationRereadMs).unref()
  const watcher = watched(path.dirname(file), (name) => {
    if (name === path.basename(file)) lookAgain()
  })
  return () => {
    isStopped = true
    clearInterval(timer)
    watcher?.close()
    return looking
  }
}
