/** Disk usage of a folder or a file. */
import type { Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import type { DiskUsage } from '../runtime.js'
import { unlessGone } from '../unless-gone.js'

const blockBytes = 512

/**
 * As du counts: whole blocks, hard links once, no symbolic links followed, one file system. What is removed meanwhile
 * counts nothing.
 */
export const diskUsageOf = async (top: string): Promise<DiskUsage> => {
  const start = await unlessGone(lstat(top))
  if (!start) return { bytes: 0, inodes: 0 }
  const linked = new Set<number>()
  const folders: string[] = []
  let bytes = 0
  let inodes = 0
  const count = (name: string, stats: Stats): void => {
    if (stats.dev !== start.dev || linked.has(stats.ino)) return
    if (stats.isDirectory()) folders.push(name)
    else if (stats.nlink > 1) linked.add(stats.ino)
    bytes += stats.blocks * blockBytes
    inodes++
  }
  count(top, start)
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of (await unlessGone(readdir(folder))) ?? []) {
      const name = path.join(folder, entry)
      const stats = await unlessGone(lstat(name))
      if (stats) count(name, stats)
    }
  }
  return { bytes, inodes }
}

export const addDiskUsage = (a: DiskUsage, b: DiskUsage): DiskUsage => ({
  bytes: a.bytes + b.bytes,
  inodes: a.inodes + b.inodes,
})
export const noDiskUsage: DiskUsage = { bytes: 0, inodes: 0 }
