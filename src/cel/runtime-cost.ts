/** What a call costs when it runs (cel-go, interpreter/runtimecost.go; apiserver, pkg/cel/library/cost.go, CallCost). */
import { NamedFormat } from './functions/named-formats.js'
import { type CelValue, KubernetesValue, MapValue, Optional, sizeOf } from './values.js'
import { work } from './work.js'

/** Traversing a character costs a tenth, a character of a pattern a quarter. */
export const traversal = 0.1
export const patternLength = 0.25
/** Two checks of authorization are what one expression may pay. */
export const authorizationCost = 350_000

const actualSize = (value: CelValue): number => {
  if (value instanceof KubernetesValue) return value.size
  if (value instanceof Optional && value.value !== undefined) return actualSize(value.value)
  return sizeOf(value) ?? 1
}

const reading = (value: CelValue | undefined, times = 1): number =>
  Math.ceil(actualSize(value ?? null) * times * traversal)

const traversalCost = (value: CelValue): number => {
  work(1)
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * traversal)
  if (value instanceof Uint8Array) return Math.floor(value.length * traversal)
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + traversalCost(item), 0)
  if (value instanceof MapValue)
    return value
      .keys()
      .reduce<number>(
        (sum, key) => sum + traversalCost(key) + traversalCost(value.get(key) ?? null),
        0,
      )
  return 1
}

const matchingSize = (text: CelValue, patternSize: number): number =>
  Math.ceil((1 + actualSize(text)) * traversal) * Math.ceil(patternSize * patternLength)
const matching = (text: CelValue, pattern: CelValue): number =>
  matchingSize(text, actualSize(pattern))

/** A requirement of a selector is at least two characters, and costs a list and a struct. */
const selectorCost = (size: number): number =>
  10 + Math.ceil(size * traversal) + Math.ceil(Math.ceil(size * 0.5) * 50)

/** Nothing, for what is no list: it is refused when it is called. */
const selfCompare = (list: CelValue | undefined): number => {
  if (!Array.isArray(list)) return 0
  const [first] = list
  const isText = typeof first === 'string' || first instanceof Uint8Array
  return Math.floor(list.length * list.length * (isText ? 2 + traversal : 2)) + 11
}

type Cost = (args: readonly CelValue[], result: CelValue, overload: string) => number

const whole: Cost = ([list]) => traversalCost(list!)
const once: Cost = ([text]) => reading(text)
const twice: Cost = ([text]) => reading(text, 2)
const found: Cost = ([text, pattern]) => matching(text!, pattern!)
const selector: Cost = ([, text]) => selectorCost(actualSize(text!))
const smaller: Cost = ([a, b]) => Math.ceil(Math.min(actualSize(a!), actualSize(b!)) * traversal)

const byFunction: Readonly<Record<string, Cost>> = {
  check: () => authorizationCost,
  fieldSelector: selector,
  labelSelector: selector,
  isSorted: whole,
  sum: whole,
  max: whole,
  min: whole,
  indexOf: whole,
  lastIndexOf: whole,
  url: once,
  lowerAscii: once,
  upperAscii: once,
  substring: once,
  trim: once,
  'jsonpatch.escapeKey': once,
  replace: twice,
  split: twice,
  join: (_args, result) => reading(result, 2),
  find: found,
  findAll: found,
  cidr: once,
  isIP: once,
  isCIDR: once,
  ip: ([text]) => (typeof text === 'string' ? reading(text) : 1),
  'ip.isCanonical': twice,
  containsIP: ([cidr, other], _result, overload) =>
    reading(cidr, 2) + (overload === 'cidr_contains_ip_string' ? reading(other) : 0),
  containsCIDR: ([cidr, other], _result, overload) =>
    reading(cidr, 2) +
    reading(cidr) +
    1 +
    (overload === 'cidr_contains_cidr_string' ? reading(other) : 0),
  quantity: once,
  isQuantity: once,
  semver: once,
  isSemver: once,
  validate: ([format, text]) =>
    format instanceof NamedFormat ? matchingSize(text!, format.patternSize) : 1,
  '_==_': (args, ...more) => (args[0] instanceof KubernetesValue ? 1 : smaller(args, ...more)),
  '_!=_': smaller,
  startsWith: once,
  endsWith: once,
  format: once,
  contains: ([text, part]) => reading(text) * reading(part),
  'sets.contains': ([a, b]) => 1 + actualSize(a!) * actualSize(b!),
  'sets.intersects': ([a, b]) => 1 + actualSize(a!) * actualSize(b!),
  'sets.equivalent': ([a, b]) => 1 + 2 * actualSize(a!) * actualSize(b!),
  slice: (_args, result) => actualSize(result) + 11,
  'lists.range': (_args, result) => actualSize(result) + 11,
  reverse: (_args, result) => actualSize(result) + 11,
  flatten: ([list, depth]) => Math.floor(actualSize(list!) * Number(depth ?? 1n)) + 11,
  distinct: ([list]) => selfCompare(list),
  // Counted by the overload, where that is known.
  sort: ([list], _result, overload) => (overload === '' ? 1 : selfCompare(list)),
  '@sortByAssociatedKeys': ([, keys], _result, overload) =>
    overload === '' ? 1 : selfCompare(keys),
}

const byOverload: Readonly<Record<string, Cost>> = {
  matches_string: found,
  string_to_bytes: once,
  strings_quote: once,
  bytes_to_string: once,
  in_list: ([, list]) => actualSize(list!),
  add_string: ([a, b]) => Math.ceil((actualSize(a!) + actualSize(b!)) * traversal),
  add_bytes: ([a, b]) => Math.ceil((actualSize(a!) + actualSize(b!)) * traversal),
}
for (const name of ['less', 'less_equals', 'greater', 'greater_equals'])
  for (const type of ['string', 'bytes'])
    Object.assign(byOverload, { [`${name}_${type}`]: smaller })

/** Functions whose cost depends on what they yield; all others are paid for before they run. */
export const paidAfter: ReadonlySet<string> = new Set(['join', 'lists.range', 'reverse', 'slice'])

/** `overload` is empty when more than one may be meant; what has no cost of its own costs 1. */
export const callCost = (
  name: string,
  overload: string,
  args: readonly CelValue[],
  result: CelValue,
): number => {
  const cost = byFunction[name] ?? byOverload[overload]
  return cost === undefined ? 1 : cost(args, result, overload)
}
