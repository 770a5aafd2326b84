/** Free memory, free space on the disks of the kubelet's files and of images, and how many more processes there may be. */

import { readFile, stat, statfs } from 'node:fs/promises'
import os from 'node:os'
import type { Observation, Observations, Signal } from './signals.js'

const diskSignals = async (name: 'nodefs' | 'imagefs', folder: string) => {
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder, { bigint: true })
  const rows: [Signal, Observation][] = [
    [`${name}.available`, { available: bavail * bsize, capacity: blocks * bsize }],
  ]
  // Some file systems have no fixed number of them.
  if (files > 0n) rows.push([`${name}.inodesFree`, { available: ffree, capacity: files }])
  return rows
}

/** The machine's own limits, and its threads; upstream: pkg/kubelet/stats/pidlimit. */
const pidSignals = async (): Promise<[Signal, Observation][]> => {
  if (process.platform !== 'linux') return []
  const limitFiles = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max']
  const [load, ...limits] = await Promise.all(
    ['/proc/loadavg', ...limitFiles].map((file) => readFile(file, 'utf8')),
  )
  const threads = Number(load!.split(' ')[3]?.split('/')[1])
  const all = Math.min(...limits.map(Number))
  const observed = { available: BigInt(all - threads), capacity: BigInt(all) }
  return [['pid.available', observed]]
}

/** If both are on one disk, its figures count for both. */
export const observeMachine = async (
  nodeFolder: string,
  imageFolder: string | undefined,
): Promise<Observations> => {
  // On Linux this is the available memory: caches do not count as used.
  const memory = { available: BigInt(os.freemem()), capacity: BigInt(os.totalmem()) }
  return new Map<Signal, Observation>([
    ['memory.available', memory],
    ...(await diskSignals('nodefs', nodeFolder)),
    ...(await diskSignals('imagefs', imageFolder ?? nodeFolder)),
    ...(await pidSignals()),
  ])
}

export const isOtherDisk = async (a: string, b: string | undefined): Promise<boolean> =>
  b !== undefined && (await stat(a)).dev !== (await stat(b)).dev
