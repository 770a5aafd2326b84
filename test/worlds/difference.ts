/** Where two clusters that played the same script part. */
import { around } from '../sweep/difference.js'
import { canonical, masked } from './canonical.js'
import type { State } from './state.js'

/** What a step came to: how each act was answered, and what was left when all was quiet. */
export interface Outcome {
  readonly name: string
  readonly answers: readonly string[]
  readonly state: State
}

const lineWidth = 500

/** Of the lists, what only one of them has. */
export const onlyIn = (lines: readonly string[], others: readonly string[]): string[] => {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

const side = (name: string, line: string): string => `    ${name}  ${line.slice(0, lineWidth)}`

/** Where each line has its counterpart, what differs of it; else the lines. */
const sides = (server: readonly string[], against: readonly string[]): string[] => {
  if (server.length !== against.length)
    return [
      ...against.map((line) => side('against', line)),
      ...server.map((line) => side('server ', line)),
    ]
  return against.flatMap((line, i) => {
    const [ours, theirs] = around(server[i]!, line)
    return [side('against', theirs), side('server ', ours)]
  })
}

const partingOf = (server: Outcome, against: Outcome): string[] => {
  const [ours, theirs] = [canonical(server.state), canonical(against.state)]
  const byKind = Object.keys(theirs).flatMap((kind) => {
    const lines = sides(onlyIn(ours[kind]!, theirs[kind]!), onlyIn(theirs[kind]!, ours[kind]!))
    return lines.length === 0 ? [] : [`  ${kind}`, ...lines]
  })
  const [said, wanted] = [server, against].map(({ answers }) => masked(answers.join('; ')))
  return said === wanted ? byKind : ['  answers', ...sides([said!], [wanted!]), ...byKind]
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
