/**
 * The JSON paths of printer columns, selectable fields and scale: `.spec.a`, `.items[*].n`, `['a.b']`, `[0]`, `[-1]`,
 * `[1:3]`, `[0,2]`, `..n`, `[?(@.type=="Ready")].status`. Parsed once, then lists of steps (client-go, util/jsonpath).
 */
import { pushAll } from '#collections/push-all.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { Float, parseJsonPath, type Step } from './json-path-parser.js'

type JsonPath = (value: JsonValue) => JsonValue[]
type Value = JsonValue | Float

/** A step that fails has found what it was given, which is something to a filter that asks whether there is anything. */
interface Found {
  readonly values: readonly Value[]
  readonly hasFailed?: true
}
type Of<T extends Step['type']> = Extract<Step, { type: T }>

/** A compiled path; undefined when it is none. */
export const compileJsonPath = (text: string): JsonPath | undefined => {
  const actions = parseJsonPath(text)
  if (actions === undefined) return undefined
  return (value) => {
    const found = actions.map((steps) => follow([value], steps))
    if (found.some(({ hasFailed }) => hasFailed)) return []
    return (found[0]?.values ?? []).map((one) => (one instanceof Float ? one.value : one))
  }
}

const failed = (values: readonly Value[]): Found => ({ values, hasFailed: true })

const follow = (values: readonly Value[], steps: readonly Step[]): Found => {
  let found: Found = { values }
  for (const step of steps) {
    found = walk(found.values, step)
    if (found.hasFailed) return found
    if (found.values.length > limits.jsonPathValuesMax) return failed([])
  }
  return found
}

const walk = (values: readonly Value[], step: Step): Found => {
  switch (step.type) {
    case 'text':
      return { values: [step.value] }
    case 'constant':
      return { values: values.map(() => step.value) }
    case 'unknown':
      return failed(values)
    case 'field':
      return { values: values.flatMap((value) => fieldOf(value, step.name)) }
    case 'all': {
      const found: Value[] = []
      for (const value of values) pushAll(found, innerOf(value))
      return { values: found }
    }
    case 'recurse':
      return { values: containersIn(values) }
    case 'union':
      return unite(values, step)
    case 'slice':
      return slice(values, step)
    case 'filter':
      return filter(values, step)
  }
}

const fieldOf = (value: Value, name: string): JsonValue[] =>
  !(value instanceof Float) && isJsonObject(value) && Object.hasOwn(value, name)
    ? [value[name]!]
    : []

const unite = (values: readonly Value[], { of }: Of<'union'>): Found => {
  const all: Value[] = []
  for (const steps of of) {
    const found = follow(values, steps)
    if (found.hasFailed) return failed(values)
    pushAll(all, found.values)
  }
  return { values: all }
}

/** Nothing goes out of bounds, even in part; where nothing is asked for, no other list is looked at either. */
const slice = (values: readonly Value[], { from, to, by }: Of<'slice'>): Found => {
  const found: Value[] = []
  for (const list of values) {
    if (list === null) continue
    if (!Array.isArray(list)) return failed(values)
    const { length } = list
    const start = from.at ?? 0
    const end = to.at ?? length
    const first = start < 0 ? start + length : start
    const last = end < 0 || (end === 0 && to.isDerived) ? end + length : end
    if (first === last) return { values: found }
    const isWithin = first >= 0 && first < length && last >= first && last <= length
    const step = by.at ?? 1
    if (!isWithin || step <= 0) return failed(values)
    for (let i = first; i < last; i += step) found.push(list[i]!)
  }
  return { values: found }
}

/** What `*` finds; of a text its bytes. */
const innerOf = (value: Value): JsonValue[] => {
  if (typeof value === 'string') return [...Buffer.from(value)]
  if (Array.isArray(value)) return value
  return !(value instanceof Float) && isJsonObject(value) ? Object.values(value) : []
}

/**
 * What holds something: itself before what is in it. A text holds its bytes. What is found in many ways counts once: a path
 * of `..a..a` has more ways than there is time.
 */
const containersIn = (values: readonly Value[]): Value[] => {
  const found = new Set<Value>()
  const walkInto = (value: Value): void => {
    if (found.has(value)) return
    const inner = innerOf(value)
    if (inner.length === 0) return
    found.add(value)
    if (typeof value !== 'string') for (const one of inner) walkInto(one)
  }
  for (const value of values) walkInto(value)
  return [...found]
}

/** Go compares what is of one kind; a whole number is none of the kind of 1.5. */
const kindOf = (value: Value): string | undefined => {
  if (value instanceof Float) return 'number'
  if (typeof value === 'number') return Number.isInteger(value) ? 'bigint' : 'number'
  return value === null || typeof value === 'object' ? undefined : typeof value
}

/** Undefined if they cannot be compared. */
const compare = (one: Value, operator: string, two: Value): boolean | undefined => {
  const kind = kindOf(one)
  if (kind === undefined || kind !== kindOf(two)) return undefined
  const plain = (value: Value) =>
    value instanceof Float ? value.value : (value as number | string)
  const [l, r] = [plain(one), plain(two)]
  // biome-ignore lint/suspicious/noDoubleEquals: an int64 may have two forms
  if (operator === '==' || operator === '!=') return (l == r) === (operator === '==')
  if (kind === 'boolean') return undefined
  if (operator === '<') return l < r
  if (operator === '<=') return l <= r
  if (operator === '>') return l > r
  return operator === '>=' ? l >= r : undefined
}

/** Undefined if it cannot be said. */
const holds = (item: JsonValue, { left, operator, right }: Of<'filter'>): boolean | undefined => {
  const found = follow([item], left)
  if (operator === 'exists') return found.values.length > 0
  if (found.hasFailed) return undefined
  if (found.values.length !== 1) return found.values.length === 0 ? false : undefined
  const against = follow([item], right)
  if (against.hasFailed) return undefined
  if (against.values.length !== 1) return against.values.length === 0 ? false : undefined
  return compare(found.values[0]!, operator, against.values[0]!)
}

const filter = (values: readonly Value[], step: Of<'filter'>): Found => {
  const kept: JsonValue[] = []
  for (const list of values) {
    if (!Array.isArray(list)) return failed(values)
    for (const item of list) {
      const answer = holds(item, step)
      if (answer === undefined) return failed(values)
      if (answer) kept.push(item)
    }
  }
  return { values: kept }
}
