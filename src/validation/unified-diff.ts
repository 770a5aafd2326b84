/**
 * The difference of two parts of objects as upstream puts it behind a message: a unified diff of their indented JSON
 * (apimachinery, pkg/util/diff). Blocks are found as Python's difflib does it: the longest run of equal lines first,
 * then what is left and right of it.
 */

import { addToList } from '#collections/add-to-list.js'
import { escapeHtml } from '#json/json.js'
import { limits } from '#limits'

interface Block {
  a: number
  b: number
  size: number
}
interface Change {
  isEqual: boolean
  a: readonly [from: number, to: number]
  b: readonly [from: number, to: number]
}
interface Bounds {
  aFrom: number
  aTo: number
  bFrom: number
  bTo: number
}

const contextLines = 3
/** From this many lines on, a line that occurs everywhere does not begin a block. */
const popularityLines = 200

const positionsOf = (lines: readonly string[]): Map<string, number[]> => {
  const positions = new Map<string, number[]>()
  for (const [i, line] of lines.entries()) {
    addToList(positions, line, i)
  }
  if (lines.length < popularityLines) return positions
  const most = Math.floor(lines.length / 100) + 1
  for (const [line, at] of positions) if (at.length > most) positions.delete(line)
  return positions
}

class Matcher {
  readonly a: readonly string[]
  readonly b: readonly string[]
  /** Of each line of `a`, where it stands in `b`. */
  readonly #positions: readonly (readonly number[])[]
  /** Of each line of `b`, how many lines that end with it equal those that end with a line of `a`: with which, is in #rows. */
  readonly #sizes: Int32Array
  readonly #rows: Int32Array

  constructor(a: readonly string[], b: readonly string[]) {
    this.a = a
    this.b = b
    const positions = positionsOf(b)
    this.#positions = a.map((line) => positions.get(line) ?? [])
    this.#sizes = new Int32Array(b.length)
    this.#rows = new Int32Array(b.length)
  }

  /** There may be as many blocks as lines, and each is looked for among all pairs of equal lines: a pair must cost little. */
  #longest({ aFrom, aTo, bFrom, bTo }: Bounds): Block {
    const { a, b } = this
    const [sizes, rows] = [this.#sizes, this.#rows]
    const best: Block = { a: aFrom, b: bFrom, size: 0 }
    rows.fill(-1, bFrom, bTo)
    for (let i = aFrom; i < aTo; i++) {
      const positions = this.#positions[i]!
      // From the last to the first: the one before still has its size of the line before.
      for (let at = positions.length - 1; at >= 0; at--) {
        const j = positions[at]!
        if (j < bFrom) break
        if (j >= bTo) continue
        const size = j > bFrom && rows[j - 1] === i - 1 ? sizes[j - 1]! + 1 : 1
        sizes[j] = size
        rows[j] = i
        // Of blocks of one size that end at this line of `a`, the first in `b` counts.
        const isEarlier = size === best.size && best.a + size === i + 1
        if (size < best.size || (size === best.size && !isEarlier)) continue
        best.a = i - size + 1
        best.b = j - size + 1
        best.size = size
      }
    }
    while (best.a > aFrom && best.b > bFrom && a[best.a - 1] === b[best.b - 1]) {
      best.a--
      best.b--
      best.size++
    }
    while (
      best.a + best.size < aTo &&
      best.b + best.size < bTo &&
      a[best.a + best.size] === b[best.b + best.size]
    )
      best.size++
    return best
  }

  blocks(bounds: Bounds): Block[] {
    const found = this.#longest(bounds)
    if (found.size === 0) return []
    const { aFrom, aTo, bFrom, bTo } = bounds
    const [aEnd, bEnd] = [found.a + found.size, found.b + found.size]
    return [
      ...(aFrom < found.a && bFrom < found.b
        ? this.blocks({ aFrom, aTo: found.a, bFrom, bTo: found.b })
        : []),
      found,
      ...(aEnd < aTo && bEnd < bTo ? this.blocks({ aFrom: aEnd, aTo, bFrom: bEnd, bTo }) : []),
    ]
  }
}

/** The same lines at the beginning and at the end, as two blocks. */
const endsOf = (a: readonly string[], b: readonly string[]): Block[] => {
  const most = Math.min(a.length, b.length)
  let before = 0
  while (before < most && a[before] === b[before]) before++
  let after = 0
  while (after < most - before && a.at(-1 - after) === b.at(-1 - after)) after++
  return [
    { a: 0, b: 0, size: before },
    { a: a.length - after, b: b.length - after, size: after },
  ]
}

const blocksOf = (a: readonly string[], b: readonly string[]): Block[] => {
  const length = Math.max(a.length, b.length)
  return length > limits.matchedLinesMax
    ? endsOf(a, b).filter(({ size }) => size > 0)
    : new Matcher(a, b).blocks({ aFrom: 0, aTo: a.length, bFrom: 0, bTo: b.length })
}

const changesOf = (a: readonly string[], b: readonly string[]): Change[] => {
  const blocks = blocksOf(a, b)
  const changes: Change[] = []
  let [i, j] = [0, 0]
  for (const block of [...blocks, { a: a.length, b: b.length, size: 0 }]) {
    if (i < block.a || j < block.b)
      changes.push({ isEqual: false, a: [i, block.a], b: [j, block.b] })
    ;[i, j] = [block.a + block.size, block.b + block.size]
    if (block.size === 0) continue
    const last = changes.at(-1)
    if (last?.isEqual) Object.assign(last, { a: [last.a[0], i], b: [last.b[0], j] })
    else changes.push({ isEqual: true, a: [block.a, i], b: [block.b, j] })
  }
  return changes
}

/** Changes with a few equal lines around them; a long equal run parts two hunks. */
const hunksOf = (changes: readonly Change[]): Change[][] => {
  const hunks: Change[][] = [[]]
  for (const [at, change] of changes.entries()) {
    const hunk = hunks.at(-1)!
    const length = change.a[1] - change.a[0]
    const isFirst = at === 0
    const isLast = at === changes.length - 1
    if (!change.isEqual || (!isFirst && !isLast && length <= 2 * contextLines)) {
      hunk.push(change)
      continue
    }
    const kept = Math.min(length, contextLines)
    const head: Change = {
      isEqual: true,
      a: [change.a[0], change.a[0] + kept],
      b: [change.b[0], change.b[0] + kept],
    }
    const tail: Change = {
      isEqual: true,
      a: [change.a[1] - kept, change.a[1]],
      b: [change.b[1] - kept, change.b[1]],
    }
    if (!isFirst) hunk.push(head)
    if (isLast) continue
    if (isFirst) hunk.push(tail)
    else hunks.push([tail])
  }
  return hunks.filter((hunk) => hunk.some(({ isEqual }) => !isEqual))
}

const printRange = (from: number, to: number): string => {
  const length = to - from
  if (length === 1) return String(from + 1)
  return `${length === 0 ? from : from + 1},${length}`
}

/** Go's indented encoding. */
const linesOf = (value: unknown): string[] => {
  const plain = (_key: string, part: unknown): unknown =>
    typeof part === 'bigint' ? Number(part) : part
  return `${escapeHtml(JSON.stringify(value, plain, 1))}\n`.split(/(?<=\n)/)
}

export const unifiedDiff = (previous: unknown, next: unknown): string => {
  const [a, b] = [linesOf(previous), linesOf(next)]
  return hunksOf(changesOf(a, b))
    .map((hunk) => {
      const [first, last] = [hunk[0]!, hunk.at(-1)!]
      const ranges = `-${printRange(first.a[0], last.a[1])} +${printRange(first.b[0], last.b[1])}`
      const lines = hunk.flatMap((change) => {
        if (change.isEqual) return a.slice(...change.a).map((line) => ` ${line}`)
        return [
          ...a.slice(...change.a).map((line) => `-${line}`),
          ...b.slice(...change.b).map((line) => `+${line}`),
        ]
      })
      return `@@ ${ranges} @@\n${lines.join('')}`
    })
    .join('')
}
