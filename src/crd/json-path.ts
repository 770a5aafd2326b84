/**
 * The JSON paths of printer columns, selectable fields and scale: `.spec.a`, `.items[*].n`, `['a.b']`, `[0]`, `[-1]`,
 * `[1:3]`, `[0,2]`, `..n`, `[?(@.type=="Ready")].status`. Parsed once, then a list of steps.
 */
import { pushAll } from '#collections/push-all.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'

type Step =
  | { type: 'field'; name: string }
  | { type: 'index'; at: number }
  | { type: 'slice'; from: number; to: number | undefined; by: number }
  | { type: 'all' }
  | { type: 'recurse' }
  | { type: 'union'; of: Step[][] }
  | { type: 'filter'; left: Step[]; operator: string; right: JsonValue | Step[] | undefined }

type JsonPath = (value: JsonValue) => JsonValue[]

/** A compiled path; undefined when it is none. */
export const compileJsonPath = (text: string): JsonPath | undefined => {
  const steps = parseSteps(text.replace(/^\$/, ''))
  return steps === undefined ? undefined : (value) => follow([value], steps) ?? []
}

/** `depth`: in how many brackets the text stands. */
const parseSteps = (text: string, depth = 0): Step[] | undefined => {
  if (depth > limits.jsonPathNestingMax) return undefined
  const steps: Step[] = []
  let at = 0
  while (at < text.length) {
    const rest = text.slice(at)
    if (rest.startsWith('..')) {
      // Upstream takes no two of them, one right behind the other.
      if (steps.at(-1)?.type === 'recurse') return undefined
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
    const inner = end === undefined ? undefined : parseBracket(text.slice(at + 1, end), depth + 1)
    if (inner === undefined) return undefined
    pushAll(steps, inner)
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

/** A quoted name is read as if it stood behind a dot: dots in it have to be escaped. */
const parseBracket = (text: string, depth: number): Step[] | undefined => {
  if (text === '*') return [{ type: 'slice', from: 0, to: undefined, by: 1 }]
  if (/^-?\d+$/.test(text)) return [{ type: 'index', at: Number(text) }]
  const slice = /^(-?\d*):(-?\d*)(?::(\d*))?$/.exec(text)
  if (slice !== null) {
    const [, from = '', to = '', by = ''] = slice
    const end = to === '' ? undefined : Number(to)
    return [{ type: 'slice', from: Number(from), to: end, by: by === '' ? 1 : Number(by) }]
  }
  const quoted = /^'([^']*)'$/.exec(text)
  if (quoted !== null) return parseSteps(`.${quoted[1]}`, depth)
  const filter = /^\?\((.*)\)$/.exec(text)
  return filter === null ? parseUnion(text, depth) : parseFilter(filter[1]!, depth)
}

const parseUnion = (text: string, depth: number): Step[] | undefined => {
  const parts = text.split(',')
  if (parts.length < 2) return undefined
  const lists = parts.map((part) => parseBracket(part.trim(), depth))
  return lists.includes(undefined) ? undefined : [{ type: 'union', of: lists as Step[][] }]
}

const parseFilter = (text: string, depth: number): Step[] | undefined => {
  const m = /^\s*@((?:[^=!<>"']|"[^"]*"|'[^']*')*)(?:(==|!=|<=|>=|<|>)(.+))?$/.exec(text)
  if (m === null) return undefined
  const left = parseSteps(m[1]!.trim(), depth)
  if (left === undefined) return undefined
  if (m[2] === undefined) return [{ type: 'filter', left, operator: 'exists', right: undefined }]
  const literal = m[3]!.trim()
  if (literal.startsWith('@')) {
    const right = parseSteps(literal.slice(1), depth)
    return right === undefined ? undefined : [{ type: 'filter', left, operator: m[2], right }]
  }
  const quoted = /^(["'])(.*)\1$/.exec(literal)
  if (quoted !== null) return [{ type: 'filter', left, operator: m[2], right: quoted[2]! }]
  const value: JsonValue | undefined =
    literal === 'true' ? true : literal === 'false' ? false : Number(literal)
  return typeof value === 'number' && Number.isNaN(value)
    ? undefined
    : [{ type: 'filter', left, operator: m[2], right: value }]
}

/** Undefined if a step does not fit one of the values: then the whole path finds nothing. */
const follow = (values: JsonValue[], steps: readonly Step[]): JsonValue[] | undefined => {
  let found = values
  for (const step of steps) {
    if (step.type === 'recurse') {
      found = containersIn(found)
      continue
    }
    const next: JsonValue[] = []
    for (const value of found) {
      const taken = take(value, step)
      if (taken === undefined) return undefined
      pushAll(next, taken)
      if (next.length > limits.jsonPathValuesMax) return undefined
    }
    found = next
  }
  return found
}

/** Empty if the slice asks for nothing; undefined if it goes out of bounds, even in part. */
const slice = (list: JsonValue[], step: Step & { type: 'slice' }): JsonValue[] | undefined => {
  const place = (at: number) => (at < 0 ? at + list.length : at)
  const [from, to] = [place(step.from), place(step.to ?? list.length)]
  if (from === to) return []
  const isWithin = from >= 0 && from < list.length && to >= from && to <= list.length
  if (!isWithin || step.by === 0) return undefined
  return list.slice(from, to).filter((_, i) => i % step.by === 0)
}

const itemAt = (value: JsonValue, at: number): JsonValue[] | undefined => {
  const item = Array.isArray(value) ? value.at(at) : undefined
  return item === undefined ? undefined : [item]
}

const unite = (value: JsonValue, lists: readonly Step[][]): JsonValue[] | undefined => {
  const found = lists.map((steps) => follow([value], steps))
  return found.includes(undefined) ? undefined : (found as JsonValue[][]).flat()
}

/** What `*` finds; of a text its bytes. */
const innerOf = (value: JsonValue): JsonValue[] => {
  if (typeof value === 'string') return [...Buffer.from(value)]
  return Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : []
}

/**
 * What holds something: itself before what is in it. A text holds its bytes. What is found in many ways counts once: a path
 * of `..a..a` has more ways than there is time.
 */
const containersIn = (values: readonly JsonValue[]): JsonValue[] => {
  const found = new Set<JsonValue>()
  const walk = (value: JsonValue): void => {
    if (found.has(value)) return
    const inner = innerOf(value)
    if (inner.length === 0) return
    found.add(value)
    if (typeof value !== 'string') for (const one of inner) walk(one)
  }
  for (const value of values) walk(value)
  return [...found]
}

const take = (
  value: JsonValue,
  step: Exclude<Step, { type: 'recurse' }>,
): JsonValue[] | undefined => {
  if (step.type === 'field')
    return isJsonObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]!] : []
  if (step.type === 'union') return unite(value, step.of)
  if (step.type === 'all') return innerOf(value)
  if (step.type !== 'filter' && value === null) return []
  if (step.type === 'index') return itemAt(value, step.at)
  if (!Array.isArray(value)) return undefined
  return step.type === 'slice' ? slice(value, step) : filter(value, step)
}

/** Go compares what is of one kind; a whole number is none of the kind of 1.5. */
const kindOf = (value: JsonValue): string | undefined => {
  if (typeof value === 'number') return Number.isInteger(value) ? 'bigint' : 'number'
  return value === null || typeof value === 'object' ? undefined : typeof value
}

const compare = (left: JsonValue, operator: string, right: JsonValue): boolean | undefined => {
  const kind = kindOf(left)
  if (kind === undefined || kind !== kindOf(right)) return undefined
  if (operator === '==') return left === right
  if (operator === '!=') return left !== right
  if (kind === 'boolean') return undefined
  const [l, r] = [left as number | string, right as number | string]
  if (operator === '<') return l < r
  if (operator === '<=') return l <= r
  return operator === '>' ? l > r : l >= r
}

/** Undefined if the values cannot be compared. */
const holds = (item: JsonValue, step: Step & { type: 'filter' }): boolean | undefined => {
  const left = follow([item], step.left)
  if (step.operator === 'exists') return left !== undefined && left.length > 0
  const right = isSteps(step.right) ? follow([item], step.right) : [step.right!]
  if (left === undefined || right === undefined) return undefined
  if (left.length === 0 || right.length === 0) return false
  return left.length > 1 || right.length > 1
    ? undefined
    : compare(left[0]!, step.operator, right[0]!)
}

const filter = (list: JsonValue[], step: Step & { type: 'filter' }): JsonValue[] | undefined => {
  const answers = list.map((item) => holds(item, step))
  return answers.includes(undefined) ? undefined : list.filter((_, i) => answers[i])
}

const isSteps = (right: JsonValue | Step[] | undefined): right is Step[] =>
  Array.isArray(right) && right.every((r) => isJsonObject(r) && 'type' in r)
