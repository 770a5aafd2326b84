/** Where two stories part. */
import { onlyIn } from '../worlds/difference.js'
import type { Moment, Story } from './story.js'

interface Pair {
  /** Where it stands, or where it would. */
  readonly ours: number
  readonly against: number
  readonly side: 'both' | 'ours' | 'against'
}

/** Both lists side by side, with as many pairs as there can be in their order. */
const aligned = (ours: readonly string[], against: readonly string[]): Pair[] => {
  const common = Array.from({ length: ours.length + 1 }, () =>
    new Array<number>(against.length + 1).fill(0),
  )
  for (let i = ours.length - 1; i >= 0; i--)
    for (let j = against.length - 1; j >= 0; j--)
      common[i]![j] =
        ours[i] === against[j]
          ? common[i + 1]![j + 1]! + 1
          : Math.max(common[i + 1]![j]!, common[i]![j + 1]!)
  const pairs: Pair[] = []
  let [i, j] = [0, 0]
  while (i < ours.length || j < against.length) {
    const isBoth = i < ours.length && j < against.length && ours[i] === against[j]
    const isAgainst = !isBoth && (i === ours.length || common[i]![j + 1]! >= common[i + 1]![j]!)
    const side = isBoth ? 'both' : isAgainst && j < against.length ? 'against' : 'ours'
    pairs.push({ ours: i, against: j, side })
    if (side !== 'against') i++
    if (side !== 'ours') j++
  }
  return pairs
}

type Versions = Story['versions']

/** What each version says that the one before it did not, and what it no longer says; times alone say nothing. */
const changesOf = (versions: Versions): string[][] => {
  const changes = versions.map((now, i) => {
    const before = versions[i - 1] ?? []
    const added = onlyIn(now, before)
    const places = new Set(added.map((line) => line.split(': ')[0]))
    const lost = onlyIn(before, now).filter((line) => !places.has(line.split(': ')[0]!))
    return [...added, ...lost.map((line) => `no longer ${line}`)]
  })
  return changes.filter((lines) => lines.length > 0)
}

const labels = { ours: 'ours   ', against: 'against' }

/**
 * Where changes differ, those of a row are told together: what only one side says, or that ours says the same
 * in more versions: it may leave out what lasts for a moment only.
 */
const versionsParting = (ours: Versions, against: Versions): string[] => {
  const changes = { ours: changesOf(ours), against: changesOf(against) }
  const texts = (lists: string[][]) => lists.map((lines) => lines.join('\n'))
  const pairs = aligned(texts(changes.ours), texts(changes.against))
  const told: string[] = []
  let row: { ours: string[][]; against: string[][] } = { ours: [], against: [] }
  const tell = (): void => {
    const [mine, theirs] = [row.ours.flat(), row.against.flat()]
    const [count, wanted] = [row.ours.length, row.against.length]
    told.push(...onlyIn(theirs, mine).map((line) => `  ${labels.against} ${line}`))
    told.push(...onlyIn(mine, theirs).map((line) => `  ${labels.ours} ${line}`))
    if (count > wanted)
      told.push(`  in ${count} versions, against ${wanted}: ${(mine[0] ?? theirs[0])!}`)
    row = { ours: [], against: [] }
  }
  for (const { side, ...at } of pairs)
    if (side === 'both') tell()
    else row[side].push(changes[side][at[side]]!)
  tell()
  return told
}

/** Less is the machine's. */
const lateSeconds = 2
const lateShare = 0.25

const momentsParting = (ours: readonly Moment[], against: readonly Moment[]): string[] => {
  const texts = (moments: readonly Moment[]) => moments.map(({ what }) => what)
  const since = (moments: readonly Moment[], i: number) =>
    moments[i]!.at - (moments[i - 1]?.at ?? 0)
  return aligned(texts(ours), texts(against)).flatMap((pair, i, pairs) => {
    if (pair.side !== 'both') {
      const { what } = (pair.side === 'ours' ? ours : against)[pair[pair.side]]!
      return [`  ${labels[pair.side]} ${what}`]
    }
    if (i === 0 || pairs[i - 1]!.side !== 'both') return []
    const [mine, theirs] = [since(ours, pair.ours), since(against, pair.against)]
    if (Math.abs(mine - theirs) < lateSeconds + lateShare * Math.max(mine, theirs)) return []
    const { what } = ours[pair.ours]!
    return [`  ${what}: after ${mine.toFixed(1)} s, against ${theirs.toFixed(1)} s`]
  })
}

/** One cause shows in many fields. */
const linesTold = 12

const brief = (lines: readonly string[], most: number): readonly string[] =>
  lines.length > most ? [...lines.slice(0, most), `  and ${lines.length - most} lines more`] : lines

/** Lines for a reader, so many of a kind at most; none when they are the same. */
export const differenceOf = (ours: Story, against: Story, most = linesTold): string[] => [
  ...brief(momentsParting(ours.moments, against.moments), most),
  ...brief(versionsParting(ours.versions, against.versions), most),
  ...onlyIn(against.events, ours.events).map((line) => `  ${labels.against} ${line}`),
  ...onlyIn(ours.events, against.events).map((line) => `  ${labels.ours} ${line}`),
]
