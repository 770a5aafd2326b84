/**
 * Walks into a volume while containers may change it: each step goes on from the folder that is open, and follows no link,
 * so that nothing that is put in its way leads out. Upstream: pkg/volume/util/subpath (doSafeMakeDir, doSafeOpen).
 */
import { constants } from 'node:fs'
import { chmod, type FileHandle, lstat, mkdir, open, realpath, stat } from 'node:fs/promises'
import path from 'node:path'

const isLinux = process.platform === 'linux'
/** O_PATH, which Node does not name: opens whatever it is, and neither reads nor waits. */
const toPass = isLinux ? 0o10000000 : constants.O_RDONLY

export const isBelow = (root: string, file: string): boolean =>
  file === root || file.startsWith(`${root}/`)

/** What is open, as a path. Elsewhere than on Linux it is the path by which it was opened. */
export const openedPath = ({ fd }: FileHandle, file: string): string =>
  isLinux ? `/proc/${process.pid}/fd/${fd}` : file

/** Without the links that are there now. Throws if one leads out of the volume. */
const resolved = async (root: string, subPath: string): Promise<string> => {
  let at = root
  for (const name of subPath.split('/').filter(Boolean)) {
    const next = path.join(at, name)
    at = (await lstat(next).catch(() => undefined)) ? await realpath(next) : next
    if (!isBelow(root, at)) throw new Error(`${at} is outside of ${root}`)
  }
  return at
}

/** Makes what is missing, with the volume's own mode. */
const step = async (from: string, name: string, mode: number): Promise<FileHandle> => {
  const next = path.join(from, name)
  const isMade = await mkdir(next).then(
    () => true,
    (error) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
  const handle = await open(next, toPass | constants.O_NOFOLLOW)
  try {
    if ((await handle.stat()).isSymbolicLink()) throw new Error(`${next} has become a link`)
    // Our umask must not narrow the mode.
    if (isMade) await chmod(openedPath(handle, next), mode)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Acts with the part of the volume, which is made where it is missing. */
export const withOpenPart = async <T>(
  volumeFolder: string,
  subPath: string,
  act: (handle: FileHandle, file: string) => Promise<T>,
): Promise<T> => {
  const root = await realpath(volumeFolder)
  const mode = (await stat(root)).mode & 0o7777
  const names = path
    .relative(root, await resolved(root, subPath))
    .split('/')
    .filter(Boolean)
  let file = root
  let handle = await open(root, toPass)
  try {
    for (const name of names) {
      const next = await step(openedPath(handle, file), name, mode)
      await handle.close()
      handle = next
      file = path.join(file, name)
    }
    return await act(handle, file)
  } finally {
    await handle.close()
  }
}
