/** A part of a volume; upstream: makeMounts (pkg/kubelet/kubelet_pods.go), pkg/volume/util/subpath. */
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { expand } from '../expand.js'
import { readForeignFile } from '../foreign-file.js'
import type { VolumeMount } from '../pod.js'
import { configError } from '../runtime.js'
import { isBelow, withOpenPart } from './open-below.js'
import { pinPart } from './pinned-part.js'

const expanded = (mount: VolumeMount, env: ReadonlyMap<string, string>): string => {
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

/** Below the volume, with the container's variables put in; empty for the whole volume. Throws StartError. */
export const subPathOf = (mount: VolumeMount, env: ReadonlyMap<string, string>): string => {
  const subPath = expanded(mount, env)
  if (path.isAbsolute(subPath))
    throw configError(`error SubPath \`${subPath}\` must not be an absolute path`)
  if (subPath.split('/').includes('..'))
    throw configError(`unable to provision SubPath \`${subPath}\`: must not contain '..'`)
  return subPath
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
  {
    container,
    env,
    pinnedAt,
  }: {
    container: string
    env: ReadonlyMap<string, string>
    /** Where the part is mounted for the container; undefined where it is reached by its path. */
    pinnedAt: string | undefined
  },
): Promise<string> => {
  const subPath = subPathOf(mount, env)
  if (subPath === '') return volumeFolder
  try {
    return await withOpenPart(volumeFolder, subPath, async (part) => {
      if (pinnedAt === undefined) return path.join(volumeFolder, subPath)
      await pinPart(part, pinnedAt)
      return pinnedAt
    })
  } catch {
    throw configError(
      `failed to prepare subPath for volumeMount "${mount.name}" of container "${container}"`,
    )
  }
}
