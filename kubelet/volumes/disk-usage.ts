/** Disk usage of a folder or a file. */
import { constants, type Stats } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import path from 'node:path'
import { limits } from '#limits'
import type { DiskUsage } from '../runtime.js'

const blockBytes = 512

/** Undefined for what is gone, has become something else since, or was closed to a kubelet that is not root. */
const unlessClosed = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(error.code ?? '')) return undefined
    throw error
  })

/** Acts with a short path of the folder. */
const from = async (folder: string, act: (short: string) => Promise<void>): Promise<void> => {
  const handle = await unlessClosed(open(folder, constants.O_DIRECTORY | constants.O_NOFOLLOW))
  try {
    if (handle) await act(`/proc/self/fd/${handle.fd}`)
  } finally {
    await handle?.close()
  }
}

/**
 * As du counts: whole blocks, hard links once, no symbolic links followed, one file system. What is removed meanwhile
 * counts nothing.
 */
export const diskUsageOf = async (top: string): Promise<DiskUsage> => {
  const start = await unlessClosed(lstat(top))
  if (!start) return { bytes: 0, inodes: 0 }
  const linked = new Set<number>()
  let bytes = 0
  let inodes = 0
  /** Whether there is more to count below. */
  const count = (stats: Stats): boolean => {
    if (stats.dev !== start.dev || linked.has(stats.ino)) return false
    if (!stats.isDirectory() && stats.nlink > 1) linked.add(stats.ino)
    bytes += stats.blocks * blockBytes
    inodes++
    return stats.isDirectory()
  }
  const walk = async (root: string): Promise<void> => {
    const folders = [root]
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      // What is nested in it may have longer paths than the system takes.
      if (folder.length > limits.walkedPathLengthMax) {
        await from(folder, walk)
        continue
      }
      for (const entry of (await unlessClosed(readdir(folder))) ?? []) {
        const name = path.join(folder, entry)
        const stats = await unlessClosed(lstat(name))
        if (stats && count(stats)) folders.push(name)
      }
    }
  }
  if (count(start)) await walk(top)
  return { bytes, inodes }
}

export const addDiskUsage = (a: DiskUsage, b: DiskUsage): DiskUsage => ({
  bytes: a.bytes + b.bytes,
  inodes: a.inodes + b.inodes,
})
export const noDiskUsage: DiskUsage = { bytes: 0, inodes: 0 }
