/** How late a watch is, as the tool tells the processes that it has started. */
import type { Random } from '#client/random.js'
import { seededRandom } from '../seeded-random.js'

interface Lateness {
  readonly mostMs: number
  /** What is added, by the plural of the resource. */
  readonly behindMs: Readonly<Record<string, number>>
  readonly seed: number
}

/** The option of Node's for a process whose watches are late. */
export const lateOption = (given: Lateness): string => {
  const url = new URL('preload.js', import.meta.url)
  url.searchParams.set('given', JSON.stringify(given))
  return `--import=${url}`
}

/** From the address by which a process has loaded the module. */
export const latenessIn = (url: string): Lateness =>
  JSON.parse(new URL(url).searchParams.get('given')!)

/** A number of its own for each text: FNV-1a. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash
}

/** By how much each thing that a watch is sent is late: most are a little, one in three by more than the mean. */
export const latenessOf = (
  { mostMs, behindMs, seed }: Lateness,
  path: string,
  nth: number,
): (() => number) => {
  const random: Random = seededRandom(seed ^ hashOf(`${path} ${nth}`))
  const usual = behindMs[path.slice(path.lastIndexOf('/') + 1)] ?? 0
  return () => usual + mostMs * random() ** 3
}
