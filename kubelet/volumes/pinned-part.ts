/**
 * A part of a volume, mounted at a place of the kubelet's own. Whoever makes the container's mount goes by a path, in which
 * a container that shares the volume may have put a link meanwhile (CVE-2021-25741). Upstream: pkg/volume/util/subpath
 * (doBindSubPath). Linux, as root.
 */
import { execFile } from 'node:child_process'
import { type FileHandle, mkdir, rmdir, unlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { openedPath } from './open-below.js'

const run = promisify(execFile)

/** Below a Pod's folder. */
export const partsFolder = 'volume-subpaths'

/** What an earlier start of the container has left. Nothing is removed through a mount. */
const clear = async (place: string): Promise<void> => {
  await run('umount', [place]).catch(() => {})
  const isGone = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'ENOENT') throw error
  }
  await rmdir(place).catch((error) => (error.code === 'ENOTDIR' ? unlink(place) : isGone(error)))
}

export const pinPart = async (handle: FileHandle, place: string): Promise<void> => {
  await mkdir(path.dirname(place), { recursive: true, mode: 0o750 })
  await clear(place)
  if ((await handle.stat()).isDirectory()) await mkdir(place)
  else await writeFile(place, '')
  // Neither mount(8) nor the kernel looks for it by a path.
  await run('mount', ['--no-canonicalize', '--bind', openedPath(handle, place), place])
}
