/** Where two clusters that played the same script part. */
import { canonical } from './canonical.js'
import type { State } from './state.js'

/** What a step came to: how each act was answered, and what was left when all was quiet. */
export interface Outcome {
  readonly name: string
  readonly answers: readonly string[]
  readonly state: State
}

const lineWidth = 2_000

/** Of the lists, what only one of them has. */
const onlyIn = (lines: readonly string[], others: readonly string[]): string[] => {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

const sides = (server: readonly string[], against: readonly string[]): string[] => [
  ...against.map((line) => `    against  ${line.slice(0, lineWidth)}`),
  ...server.map((line) => `    server   ${line.slice(0, lineWidth)}`),
]

const partingOf = (server: Outcome, against: Outcome): string[] => {
  const [ours, theirs] = [canonical(server.state), canonical(against.state)]
  const byKind = Object.keys(theirs).flatMap((kind) => {
    const lines = sides(onlyIn(ours[kind]!, theirs[kind]!), onlyIn(theirs[kind]!, ours[kind]!))
    return lines.length === 0 ? [] : [`  ${kind}`, ...lines]
  })
  const [said, wanted] = [server.answers.join('; '), against.answers.join('; ')]
  return said === wanted ? byKind : ['  answers', ...sides([said], [wanted]), ...byKind]
}

/** The first step at which they part, as lines for a reader; none when they never do. */
export const differenceOf = (server: readonly Outcome[], against: readonly Outcome[]): string[] => {
  for (const [i, outcome] of against.entries()) {
    const lines = partingOf(server[i]!, outcome)
    if (lines.length > 0)
      return [against.map(({ name }, n) => (n === i ? `>> ${name} <<` : name)).join(', '), ...lines]
  }
  return []
}
