import { goQuote } from '#go/quote.js'
import { parseInt64 } from '#json/int64.js'

/** Lists of indexes of an indexed job, such as `1,3-5` (kubernetes, batch/validation parseIndexInterval). */

type Interval = readonly [from: number, to: number]

const readIndex = (text: string, completions: number): number | string => {
  const value = parseInt64(text)
  if (value === undefined) return `cannot convert string to integer for index: ${goQuote(text)}`
  return value >= completions ? `too large index: ${goQuote(text)}` : Number(value)
}

const notIncreasing = (previous: number, current: number): string =>
  `non-increasing order, previous: ${previous}, current: ${current}`

/** A text says what is wrong. */
const readInterval = (text: string, completions: number): Interval | string => {
  const limits = text.split('-')
  if (limits.length > 2)
    return `the fragment ${goQuote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`
  const from = readIndex(limits[0] ?? '', completions)
  if (typeof from === 'string') return from
  if (limits[1] === undefined) return [from, from]
  const to = readIndex(limits[1], completions)
  if (typeof to === 'string') return to
  return from >= to ? notIncreasing(from, to) : [from, to]
}

/** How many indexes there are; a text says what is wrong. */
export const countIndexes = (text: string, completions: number): number | string => {
  let count = 0
  let last: number | undefined
  for (const part of text === '' ? [] : text.split(',')) {
    const interval = readInterval(part, completions)
    if (typeof interval === 'string') return interval
    const [from, to] = interval
    if (last !== undefined && last >= from) return notIncreasing(last, from)
    count += to - from + 1
    last = to
  }
  return count
}

/** An index that both lists have; intervals that cannot be read are reported elsewhere. */
export const sharedIndex = (
  one: string,
  other: string,
  completions: number,
): number | undefined => {
  const intervals = (text: string): Interval[] =>
    text.split(',').flatMap((part) => {
      const interval = readInterval(part, completions)
      return typeof interval === 'string' ? [] : [interval]
    })
  const [ones, others] = [intervals(one), intervals(other)]
  for (let i = 0, j = 0; i < ones.length && j < others.length; ) {
    const [from, to] = ones[i]!
    const [otherFrom, otherTo] = others[j]!
    if (from <= otherTo && otherFrom <= to) return Math.max(from, otherFrom)
    // Both are in order, or that is reported elsewhere.
    if (from <= otherFrom) i++
    else j++
  }
  return undefined
}
