/**
 * Mounts of a container without a mount namespace: symbolic links below its working folder. The host's paths are not
 * touched.
 */
import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { makeFolders } from '#program/make-folders.js'
import type { Mount } from '../../runtime.js'

/** Every mount appears under its path. */
export const makeWorkFolder = (folder: string, mounts: readonly Mount[]): void => {
  mkdirSync(folder, { mode: 0o755 })
  for (const { hostPath, containerPath } of mounts) {
    const link = path.join(folder, containerPath)
    if (path.relative(folder, link).startsWith('..') || link === folder) continue
    makeFolders(path.dirname(link))
    try {
      symlinkSync(hostPath, link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/**
 * Puts the path of the file for a container's termination message into its command and variables: a container that
 * writes to /dev/termination-log must not write to the host's /dev.
 */
export const withOwnFiles = (mounts: readonly Mount[]): ((text: string) => string) => {
  const own = mounts.filter(
    ({ volume, containerPath }) => volume === '' && containerPath.length > 1,
  )
  return (text) =>
    own.reduce(
      (replaced, { containerPath, hostPath }) => replaceWhole(replaced, containerPath, hostPath),
      text,
    )
}

const replaceWhole = (text: string, file: string, by: string): string => {
  const parts: string[] = []
  let done = 0
  for (let at = text.indexOf(file); at >= 0; at = text.indexOf(file, at + file.length)) {
    const end = at + file.length
    // Only so much as is looked at: the text may be long, and name the file very often.
    if (!isWholePath(text.slice(Math.max(0, at - rootName.length), at), text.slice(end, end + 2)))
      continue
    parts.push(text.slice(done, at), by)
    done = end
  }
  return parts.join('') + text.slice(done)
}

/** The longest text before a file that says that it lies in the working folder. */
const rootName = 'CONTAINER_ROOT}"'

/** Neither a part of a longer path nor one that names the working folder itself. */
const isWholePath = (before: string, after: string): boolean =>
  !/(?:[\w.}/-]|CONTAINER_ROOT\}?["'])$/.test(before) && !/^[\w/-]|^\.\w/.test(after)
