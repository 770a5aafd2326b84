/** Volumes in memory, and what is mounted in a Pod's folder; upstream: pkg/volume/emptydir. Linux, as root. */
import { execFile } from 'node:child_process'
import { readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { mainAndInitContainers, type Pod, type Resources } from '../pod.js'
import { amountOf } from '../resource-amount.js'
import { limitsOf } from '../status/pod-resources.js'
import { partsFolder } from './pinned-part.js'

const run = promisify(execFile)

/** Memory limit of the whole Pod; infinite if a container has none (ResourceConfigForPod). */
const limitOfPod = (pod: Pod): number => {
  const hasLimit = ({ resources }: { resources?: Resources | undefined }): boolean =>
    amountOf(resources?.limits?.memory ?? 0) > 0
  const isLimited = hasLimit(pod.spec) || mainAndInitContainers(pod).every(hasLimit)
  return isLimited ? Number(limitsOf(pod).get('memory')) / 1000 : Number.POSITIVE_INFINITY
}

/** At most the limits of its Pod and its node. */
export const memoryVolumeBytes = (
  pod: Pod,
  sizeLimit: string | number | undefined,
  allocatableBytes: number,
): number => {
  const asked = amountOf(sizeLimit ?? 0)
  return Math.min(allocatableBytes, limitOfPod(pod), asked > 0 ? asked : Number.POSITIVE_INFINITY)
}

/** Does nothing if an earlier kubelet has mounted it. */
export const mountMemory = async (folder: string, bytes: number): Promise<void> => {
  const [own, above] = await Promise.all([stat(folder), stat(path.dirname(folder))])
  if (own.dev !== above.dev) return
  await run('mount', ['-t', 'tmpfs', '-o', `size=${Math.floor(bytes)}`, 'tmpfs', folder])
}

/** The table writes blanks and the like as octal numbers. */
const unescaped = (name: string): string =>
  name.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )

/** What is mounted below the folder, in the order in which it was. */
const mountsBelow = async (folder: string): Promise<{ whole: string; points: string[] }> => {
  const whole = await realpath(folder).catch(() => undefined)
  if (whole === undefined) return { whole: folder, points: [] }
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  const points = table
    .split('\n')
    .map((line) => unescaped(line.split(' ')[4] ?? ''))
    .filter((point) => point.startsWith(`${whole}/`))
  return { whole, points }
}

/** Parts of volumes that were mounted for the Pod's containers. */
export const unmountParts = async (podFolder: string): Promise<void> => {
  const { points } = await mountsBelow(path.join(podFolder, partsFolder))
  for (const point of points) await run('umount', [point])
}

/**
 * Throws if there are mounts that are not ours: nothing may be removed through a mount, since the files behind it are
 * somebody else's.
 */
export const unmountVolumes = async (podFolder: string): Promise<void> => {
  const { whole, points } = await mountsBelow(podFolder)
  const foreign = points.find((point) => path.dirname(point) !== path.join(whole, 'volumes'))
  if (foreign !== undefined) throw new Error(`EBUSY: ${foreign} is mounted`)
  for (const point of points) await run('umount', [point])
}
