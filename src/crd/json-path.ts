/**
 * The JSON paths of printer columns, selectable fields and scale: `.spec.a`, `.items[*].n`, `['a.b']`, `[0]`, `[-1]`,
 * `[1:3]`, `[0,2]`, `..n`, `[?(@.type=="Ready")].status`. Parsed once, then a list of steps.
 */
import { isJsonObject } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'

type Step =
  | { type: 'field'; name: string }
  | { type: 'index'; at: number }
  | { type: 'slice'; from: number; to: number | undefined; by: number }
  | { type: 'all' }
  | { type: 'recurse' }
  | { type: 'union'; of: Step[] }
  | { type: 'filter'; left: Step[]; operator: string; right: JsonValue | Step[] | undefined }

export type JsonPath = (value: JsonValue) => JsonValue[]

/** A compiled path; undefined when it is none. */
export const compileJsonPath = (text: string): JsonPath | undefined => {
  const steps = parseSteps(text.replace(/^\$/, ''))
  return steps === undefined ? undefined : (value) => follow([value], steps)
}

const parseSteps = (text: string): Step[] | undefined => {
  const steps: Step[] = []
  let at = 0
  while (at < text.length) {
    const rest = text.slice(at)
    if (rest.startsWith('..')) {
      steps.push({ type: 'recurse' })
      at += rest[2] === '[' ? 2 : 1
      continue
    }
    const field = /^\.((?:\\.|[^.[\\])+)/.exec(rest)
    if (field !== null) {
      const name = field[1]!.replace(/\\(.)/g, '$1')
      steps.push(name === '*' ? { type: 'all' } : { type: 'field', name })
      at += field[0].length
      continue
    }
    const end = endOfBracket(text, at)
    const step = end === undefined ? undefined : parseBracket(text.slice(at + 1, end))
    if (step === undefined) return undefined
    steps.push(step)
    at = end! + 1
  }
  return steps
}

/** Where the bracket that opens at `at` closes; strings inside may hold brackets. */
const endOfBracket = (text: string, at: number): number | undefined => {
  if (text[at] !== '[') return undefined
  let quote = ''
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const c = text[i]!
    if (quote !== '') {
      if (c === '\\') i++
      else if (c === quote) quote = ''
    } else if (c === '"' || c === "'") quote = c
    else if (c === '[') depth++
    else if (c === ']' && --depth === 0) return i
  }
  return undefined
}

const parseBracket = (inner: string): Step | undefined => {
  const text = inner.trim()
  if (text === '*') return { type: 'all' }
  if (/^-?\d+$/.test(text)) return { type: 'index', at: Number(text) }
  const slice = /^(-?\d*):(-?\d*)(?::(\d*))?$/.exec(text)
  if (slice !== null) {
    const [, from = '', to = '', by = ''] = slice
    const end = to === '' ? undefined : Number(to)
    return { type: 'slice', from: Number(from), to: end, by: by === '' ? 1 : Number(by) }
  }
  const quoted = /^'((?:\\.|[^'\\])*)'$|^"((?:\\.|[^"\\])*)"$/.exec(text)
  if (quoted !== null)
    return { type: 'field', name: (quoted[1] ?? quoted[2] ?? '').replace(/\\(.)/g, '$1') }
  const filter = /^\?\((.*)\)$/.exec(text)
  return filter === null ? parseUnion(text) : parseFilter(filter[1]!)
}

const parseUnion = (text: string): Step | undefined => {
  const parts = text.match(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,'"]+/g) ?? []
  if (parts.length < 2 || parts.join(',') !== text) return undefined
  const steps = parts.map(parseBracket)
  return steps.includes(undefined) ? undefined : { type: 'union', of: steps as Step[] }
}

const parseFilter = (text: string): Step | undefined => {
  const m = /^\s*@((?:[^=!<>"']|"[^"]*"|'[^']*')*)(?:(==|!=|<=|>=|<|>)(.+))?$/.exec(text)
  if (m === null) return undefined
  const left = parseSteps(m[1]!.trim())
  if (left === undefined) return undefined
  if (m[2] === undefined) return { type: 'filter', left, operator: 'exists', right: undefined }
  const literal = m[3]!.trim()
  if (literal.startsWith('@')) {
    const right = parseSteps(literal.slice(1))
    return right === undefined ? undefined : { type: 'filter', left, operator: m[2], right }
  }
  const quoted = /^(["'])(.*)\1$/.exec(literal)
  if (quoted !== null) return { type: 'filter', left, operator: m[2], right: quoted[2]! }
  const value: JsonValue | undefined =
    literal === 'true' ? true : literal === 'false' ? false : Number(literal)
  return typeof value === 'number' && Number.isNaN(value)
    ? undefined
    : { type: 'filter', left, operator: m[2], right: value }
}

const follow = (values: JsonValue[], steps: readonly Step[]): JsonValue[] => {
  let found = values
  for (const step of steps) found = found.flatMap((value) => take(value, step))
  return found
}

/** What is out of bounds finds nothing, even where some of it is within. */
const slice = (list: JsonValue[], step: Step & { type: 'slice' }): JsonValue[] => {
  const place = (at: number) => (at < 0 ? at + list.length : at)
  const [from, to] = [place(step.from), place(step.to ?? list.length)]
  if (from < 0 || to > list.length || step.by === 0) return []
  return list.slice(from, Math.max(to, 0)).filter((_, i) => i % step.by === 0)
}

const innerOf = (value: JsonValue): JsonValue[] =>
  Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : []

/** What holds something: itself before what is in it. */
const containersIn = (value: JsonValue): JsonValue[] => {
  const inner = innerOf(value)
  return inner.length === 0 ? [] : [value, ...inner.flatMap(containersIn)]
}

const take = (value: JsonValue, step: Step): JsonValue[] => {
  if (step.type === 'field')
    return isJsonObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]!] : []
  if (step.type === 'index') {
    const item = Array.isArray(value) ? value.at(step.at) : undefined
    return item === undefined ? [] : [item]
  }
  if (step.type === 'slice') return Array.isArray(value) ? slice(value, step) : []
  if (step.type === 'union') return step.of.flatMap((one) => take(value, one))
  if (step.type === 'recurse') return containersIn(value)
  const inner = innerOf(value)
  return step.type === 'all' ? inner : inner.filter((item) => holds(item, step))
}

const holds = (item: JsonValue, step: Step & { type: 'filter' }): boolean => {
  const left = follow([item], step.left)[0]
  if (step.operator === 'exists') return left !== undefined
  const right = isSteps(step.right) ? follow([item], step.right)[0] : step.right
  if (left === undefined || right === undefined) return false
  if (step.operator === '==') return left === right
  if (step.operator === '!=') return left !== right
  if (typeof left !== typeof right) return false
  const [l, r] = [left as number | string, right as number | string]
  if (step.operator === '<') return l < r
  if (step.operator === '<=') return l <= r
  return step.operator === '>' ? l > r : l >= r
}

const isSteps = (right: JsonValue | Step[] | undefined): right is Step[] =>
  Array.isArray(right) && right.every((r) => isJsonObject(r) && 'type' in r)
