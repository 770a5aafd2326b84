/** Texts of the format `duration`: those of Go, and Scala's with their words (kube-openapi, strfmt.ParseDuration). */
import { parseDuration } from '#cel/times.js'
import { Duration } from '#cel/values.js'
import { parseInt64 } from '#json/int64.js'

/** The last of each row is a beginning. */
const units: readonly (readonly [nanos: bigint, ...words: string[]])[] = [
  [1n, 'ns', 'nano'],
  [1_000n, 'us', 'µs', 'micro'],
  [1_000_000n, 'ms', 'milli'],
  [1_000_000_000n, 's', 'sec'],
  [60_000_000_000n, 'm', 'min'],
  [3_600_000_000_000n, 'h', 'hr', 'hour'],
  [86_400_000_000_000n, 'd', 'day'],
  [604_800_000_000_000n, 'w', 'wk', 'week'],
]

const nanosOf = (word: string): bigint | undefined =>
  units.find(([, ...words]) => words.includes(word) || word.startsWith(words.at(-1)!))?.[0]

/** What stands between its parts, and parts of other units, are passed over. */
const parseWords = (text: string): Duration | undefined => {
  let total: bigint | undefined
  for (const [, digits, word] of text.matchAll(/(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-zµ]+)/g)) {
    const factor = parseInt64(digits!)
    if (factor === undefined) return undefined
    const nanos = nanosOf(word!.toLowerCase())
    if (nanos !== undefined) total = BigInt.asIntN(64, (total ?? 0n) + factor * nanos)
  }
  return total === undefined ? undefined : new Duration(total)
}

/** Undefined for what is none. */
export const parseFormatDuration = (text: string): Duration | undefined =>
  parseDuration(text) ?? parseWords(text)
