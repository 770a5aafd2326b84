/** The differences that were met, by class, with the smallest example of each. */
import type { Difference } from './difference.js'
import { type Request, textOf } from './target.js'

export interface Example {
  readonly where: string
  readonly request: Request
  /** What was asked before it, where that counts. */
  readonly before?: readonly Request[]
}

interface DifferenceClass {
  readonly name: string
  readonly wheres: Set<string>
  count: number
  example: Example
  difference: Difference
}

export interface Report {
  readonly compared: number
  readonly classes: readonly DifferenceClass[]
}

const bodyWidth = 3000
const wheresShown = 4

const sizeOf = ({ request, before = [] }: Example): number =>
  [...before, request].reduce(
    (sum, { path, body }) => sum + path.length + textOf(body ?? '').length,
    0,
  )

const lineOf = ({ method, path, body, headers }: Request): string => {
  const shown = Object.values(headers ?? {})
  return [method, path, ...shown, body === undefined ? '' : textOf(body).slice(0, bodyWidth)]
    .filter(Boolean)
    .join(' ')
}

export const createReport = () => {
  const classes = new Map<string, DifferenceClass>()
  let compared = 0
  return {
    counted: (): void => void compared++,
    knows: (difference: Difference): boolean => classes.has(difference.className),
    add: (example: Example, difference: Difference): void => {
      const known = classes.get(difference.className)
      if (known === undefined) {
        const wheres = new Set([example.where])
        const name = difference.className
        classes.set(name, { name, wheres, count: 1, example, difference })
        return
      }
      known.count++
      known.wheres.add(example.where)
      if (sizeOf(example) < sizeOf(known.example)) Object.assign(known, { example, difference })
    },
    report: (): Report => ({
      compared,
      classes: [...classes.values()].sort((a, b) => b.count - a.count),
    }),
  }
}

export const linesOf = ({ compared, classes }: Report): string[] => {
  const differences = classes.reduce((sum, { count }) => sum + count, 0)
  const lines = classes.flatMap(({ count, wheres, example, difference }) => [
    '',
    `${count} x ${[...wheres].slice(0, wheresShown).join('; ')}${wheres.size > wheresShown ? `; and ${wheres.size - wheresShown} more` : ''}`,
    ...(example.before ?? []).map((request) => `  before   ${lineOf(request)}`),
    `  request  ${lineOf(example.request)}`,
    `  at       ${difference.place}`,
    `  server   ${difference.server}`,
    `  against  ${difference.against}`,
  ])
  return [
    ...lines,
    '',
    `${compared} answers compared, ${differences} differ, in ${classes.length} classes`,
  ]
}
