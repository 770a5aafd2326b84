/** What a tree that has its types may still be refused for (cel-go, cel/validator.go and ext/formatting.go). */
import { getOwn } from '#json/object.js'
import { type Call, type Expression, type ListLiteral, type MapLiteral, visitAll } from './ast.js'
import { complaint, FormatError, readFormat } from './functions/string-format.js'
import { compilePattern } from './patterns.js'
import type { Problem } from './source-errors.js'
import { parseDuration, parseTimestamp, timestampOf } from './times.js'
import { formatType, isExactType, optionalParameter, type Type, types } from './types.js'
import type { CelValue } from './values.js'

const parses = (read: () => unknown): boolean => {
  try {
    return read() !== undefined
  } catch {
    return false
  }
}

const readers: Readonly<Record<string, (value: CelValue) => boolean>> = {
  duration: (value) => typeof value === 'string' && parses(() => parseDuration(value)),
  timestamp: (value) =>
    typeof value === 'bigint'
      ? parses(() => timestampOf(value * 1_000_000_000n))
      : typeof value !== 'string' || parses(() => parseTimestamp(value)),
  matches: (value) => typeof value !== 'string' || parses(() => compilePattern(value)),
}

const checkArgument = (e: Call): Problem[] => {
  const reader = getOwn(readers, e.name)
  const [arg] = e.args
  if (reader === undefined || arg?.kind !== 'constant' || reader(arg.value)) return []
  return [{ at: arg.at, message: `invalid ${e.name} argument` }]
}

const differs = (at: number, expected: Type, found: Type): Problem => ({
  at,
  message: `expected type '${formatType(expected)}' but found '${formatType(found)}'`,
})

const typeOf = (e: Expression, isOptional: boolean): Type => {
  const type = e.type ?? types.error
  return isOptional ? (optionalParameter(type) ?? type) : type
}

const checkList = (e: ListLiteral): Problem[] => {
  const [first, ...rest] = e.items.map((item) => typeOf(item.value, item.isOptional))
  const wrong = rest.findIndex((type) => !isExactType(first!, type))
  return wrong < 0 ? [] : [differs(e.items[wrong + 1]!.value.at, first!, rest[wrong]!)]
}

const checkMap = (e: MapLiteral): Problem[] => {
  const [first, ...rest] = e.entries
  if (first === undefined) return []
  const keyType = typeOf(first.key, false)
  const valueType = typeOf(first.value, first.isOptional)
  return rest.flatMap(({ key, value, isOptional }) => {
    const [k, v] = [typeOf(key, false), typeOf(value, isOptional)]
    return [
      ...(isExactType(keyType, k) ? [] : [differs(key.at, keyType, k)]),
      ...(isExactType(valueType, v) ? [] : [differs(value.at, valueType, v)]),
    ]
  })
}

const clauseKinds: Readonly<Record<string, readonly string[]>> = {
  b: ['int', 'uint', 'bool'],
  d: ['int', 'uint'],
  e: ['double', 'string'],
  f: ['double', 'string'],
  o: ['int', 'uint'],
  s: 'list map int uint double bool string timestamp bytes duration type null'.split(' '),
  x: ['int', 'uint', 'string', 'bytes'],
}

/** The first part of an argument that its clause does not take. */
const misfit = (e: Expression, kinds: readonly string[]): Expression | undefined => {
  const { kind } = e.type ?? types.dyn
  if (kind !== 'dyn' && !kinds.includes(kind)) return e
  if (kinds !== clauseKinds.s) return undefined
  const parts =
    e.kind === 'list'
      ? e.items.map((item) => item.value)
      : e.kind === 'map'
        ? e.entries.flatMap(({ key, value }) => [key, value])
        : []
  return parts.map((part) => misfit(part, kinds)).find((found) => found !== undefined)
}

const checkFormat = (e: Call): Problem[] => {
  const [list] = e.args
  if (e.name !== 'format' || e.target?.kind !== 'constant' || list?.kind !== 'list') return []
  const { value: format } = e.target
  if (typeof format !== 'string') return []
  const args = list.items.map((item) => item.value)
  let at = e.at
  try {
    const asked = readFormat(
      format,
      args.length,
      () => undefined,
      ({ kind }, index) => {
        const wrong = misfit(args[index]!, clauseKinds[kind.toLowerCase()]!)
        if (wrong === undefined) return
        at = wrong.at
        throw new FormatError(
          `error during formatting: ${complaint(kind, (wrong.type ?? types.dyn).name)}`,
        )
      },
    )
    if (asked >= args.length) return []
    const counts = `(expected ${asked}, got ${args.length})`
    return [{ at, message: `too many arguments supplied to string.format ${counts}` }]
  } catch (error) {
    if (error instanceof FormatError) return [{ at, message: error.message }]
    throw error
  }
}

export const checkLiterals = (root: Expression): Problem[] => {
  const problems: Problem[] = []
  visitAll(root, (e, parents) => {
    const isFormatted = parents.some((p) => p.kind === 'call' && p.name === 'format')
    if (e.kind === 'call') problems.push(...checkArgument(e), ...checkFormat(e))
    else if (e.kind === 'list' && !isFormatted) problems.push(...checkList(e))
    else if (e.kind === 'map' && !isFormatted) problems.push(...checkMap(e))
  })
  return problems
}
