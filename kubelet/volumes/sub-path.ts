/** A part of a volume; upstream: makeMounts (pkg/kubelet/kubelet_pods.go), pkg/volume/util/subpath. */
import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { expand } from '../expand.js'
import { readForeignFile } from '../foreign-file.js'
import type { VolumeMount } from '../pod.js'
import { configError } from '../runtime.js'

/** What the container's variables make of it; empty for the whole volume. */
const subPathOf = (mount: VolumeMount, env: ReadonlyMap<string, string>): string => {
  if (!mount.subPathExpr) return mount.subPath ?? ''
  const missing = new Set<string>()
  const subPath = expand(mount.subPathExpr, {
    get: (name) => {
      const value = env.get(name) ?? ''
      if (value === '') missing.add(name)
      return value
    },
  })
  if (missing.size === 0) return subPath
  throw configError(`missing value for ${[...missing].sort().join(', ')}`)
}

const isBelow = (root: string, file: string): boolean =>
  file === root || file.startsWith(`${root}/`)

/** Makes what is missing, with the volume's own mode. Throws if a link leads out of the volume. */
const makeBelow = async (volumeFolder: string, subPath: string): Promise<void> => {
  const root = await realpath(volumeFolder)
  const mode = (await stat(root)).mode & 0o7777
  let at = root
  for (const name of subPath.split('/').filter(Boolean)) {
    const next = path.join(at, name)
    const isThere = await lstat(next).catch(() => undefined)
    if (!isThere) {
      await mkdir(next)
      // Our umask must not narrow the mode.
      await chmod(next, mode)
    }
    at = await realpath(next)
    if (!isBelow(root, at)) throw new Error(`${at} is outside of ${root}`)
  }
}

/** Throws if there is no such file, or a longer one, or a link leads out of the volume. */
export const readBelow = async (
  volumeFolder: string,
  file: string,
  bytesMax: number,
): Promise<string> => {
  const root = await realpath(volumeFolder)
  const found = await realpath(path.join(root, path.posix.join('/', file)))
  const mayLieAt = (opened: string) => isBelow(root, opened)
  if (!mayLieAt(found)) throw new Error(`${file} is outside`)
  return (await readForeignFile(found, { bytesMax, mayLieAt })).toString('utf8')
}

/** Where the mount leads on this host. Throws StartError, whose text reveals nothing of the host's files. */
export const mountedPath = async (
  volumeFolder: string,
  mount: VolumeMount,
  { container, env }: { container: string; env: ReadonlyMap<string, string> },
): Promise<string> => {
  const subPath = subPathOf(mount, env)
  if (subPath === '') return volumeFolder
  if (path.isAbsolute(subPath))
    throw configError(`error SubPath \`${subPath}\` must not be an absolute path`)
  if (subPath.split('/').includes('..'))
    throw configError(`unable to provision SubPath \`${subPath}\`: must not contain '..'`)
  try {
    await makeBelow(volumeFolder, subPath)
  } catch {
    throw configError(
      `failed to prepare subPath for volumeMount "${mount.name}" of container "${container}"`,
    )
  }
  return path.join(volumeFolder, subPath)
}
