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
  const own = mounts.filter(({ volume, containerPath }) => volume === '' && containerPath !== '/')
  return (text) =>
    own.reduce(
      (replaced, { containerPath, hostPath }) =>
        replaced
          .split(containerPath)
          .reduce((before, after) =>
            isWholePath(before, after)
              ? `${before}${hostPath}${after}`
              : `${before}${containerPath}${after}`,
          ),
      text,
    )
}

/** Neither a part of a longer path nor one that names the working folder itself. */
const isWholePath = (before: string, after: string): boolean =>
  !/(?:[\w.}/-]|CONTAINER_ROOT\}?["'])$/.test(before) && !/^[\w/-]|^\.\w/.test(after)
