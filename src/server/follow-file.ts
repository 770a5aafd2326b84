/** A file of configuration that may change while the server runs (apiserver, pkg/util/filesystem: WatchUntil). */
import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { limits } from '#limits'

interface FollowedFile {
  readonly file: string
  /** As it was read at the start. */
  readonly text: string
  /** What it says now. What it rejects with is told, and the text is not shown again. */
  take(text: string): Promise<void>
  readonly warn: (error: unknown) => void
}

/** Looks as soon as the folder tells of a change, and once in a while, for a folder may tell nothing. Ends when what it yields is called. */
export const followFile = ({ file, text, take, warn }: FollowedFile): (() => Promise<void>) => {
  let known = text
  const look = async (): Promise<void> => {
    try {
      const found = await readFile(file, 'utf8')
      if (found === known) return
      known = found
      await take(found)
    } catch (error) {
      warn(error)
    }
  }
  let looking = Promise.resolve()
  const lookAgain = (): void => {
    looking = looking.then(look)
  }
  const timer = setInterval(lookAgain, limits.configurationRereadMs).unref()
  const watcher = watch(path.dirname(file), { persistent: false }, (_event, name) => {
    if (name === path.basename(file)) lookAgain()
  })
  watcher.on('error', () => watcher.close())
  return () => {
    clearInterval(timer)
    watcher.close()
    return looking
  }
}
