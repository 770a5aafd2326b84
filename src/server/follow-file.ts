/** A file of configuration that may change while the server runs. */
import { readFile } from 'node:fs/promises'
import { limits } from '#limits'

export interface FollowedFile {
  readonly file: string
  /** As it was read at the start. */
  readonly text: string
  /** What it says now. What it rejects with is told, and the text is not shown again. */
  take(text: string): Promise<void>
  readonly warn: (message: string, error: unknown) => void
  /** Default: a minute, as upstream. */
  readonly everyMs?: number
}

/** Looks again and again until the function that it yields is called. */
export const followFile = (followed: FollowedFile): (() => void) => {
  const { file, text, take, warn, everyMs = limits.configurationRereadMs } = followed
  let known = text
  let isLooking = false
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    try {
      const found = await readFile(file, 'utf8')
      if (found === known) return
      known = found
      await take(found)
    } catch (error) {
      warn(`${file} was not read again`, error)
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(look, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
