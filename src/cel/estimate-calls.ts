/** What calls may cost (cel-go, checker/cost.go, functionCost; apiserver, pkg/cel/library/cost.go, EstimateCallCost). */
import { getOwn } from '#json/object.js'
import {
  addRanges,
  type CostRange,
  fixed,
  least,
  range,
  type SizedNode,
  type SizeOfPath,
  scale,
  timesFactorOf,
  unionRanges,
  unknownRange,
} from './estimate-ranges.js'
import { authorizationCost, patternLength, traversal } from './runtime-cost.js'
import { isExactType } from './types.js'

interface CallEstimate {
  readonly cost: CostRange
  /** Of the result. */
  readonly size?: CostRange | undefined
}

interface EstimatedCall {
  readonly name: string
  readonly id: string
  readonly target: SizedNode | undefined
  readonly args: readonly SizedNode[]
  readonly costs: readonly CostRange[]
  readonly sizeOfPath: SizeOfPath
}

/** Without what the arguments cost; undefined: this function has no cost of its own. */
type Estimate = (call: Sized) => CallEstimate | undefined

const atOnce = fixed(1)

/** A call and the sizes of its parts. */
class Sized {
  readonly call: EstimatedCall
  constructor(call: EstimatedCall) {
    this.call = call
  }
  of(node: SizedNode | undefined): CostRange {
    if (node === undefined) return unknownRange
    const found = node.path.length === 0 ? undefined : this.call.sizeOfPath(node.path)
    return node.size ?? found ?? unknownRange
  }
  get target(): CostRange {
    return this.of(this.call.target)
  }
  arg(index: number): CostRange {
    return this.of(this.call.args[index])
  }
  /** An int that is written there. */
  constant(index: number): bigint | undefined {
    const e = this.call.args[index]?.expression
    return e?.kind === 'constant' && typeof e.value === 'bigint' ? e.value : undefined
  }
  /** What a list that is the target holds. */
  get element(): SizedNode | undefined {
    const { target } = this.call
    const type = target?.type.params[0]
    if (target === undefined || type === undefined) return undefined
    const path = target.path.length === 0 ? [] : [...target.path, '@items']
    return { path, type, expression: undefined, size: undefined }
  }
}

const reading = (size: CostRange, times = 1): CostRange => timesFactorOf(size, times * traversal)

const matching = (text: CostRange, pattern: CostRange): CostRange =>
  scale(reading(addRanges(text, atOnce)), timesFactorOf(pattern, patternLength))

const nominal: Estimate = () => ({ cost: atOnce })
const readsArgument: Estimate = (c) => ({ cost: reading(c.arg(0)) })
const readsTarget: Estimate = (c) => ({ cost: reading(c.target), size: c.target })

const traverses: Estimate = (c) => {
  const { element } = c
  if (element === undefined) return { cost: reading(c.target) }
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes'
  const each = isText ? addRanges(atOnce, reading(c.of(element))) : atOnce
  return { cost: scale(c.target, each) }
}

const selector: Estimate = (c) => {
  const size = c.arg(0)
  const requirements = timesFactorOf(timesFactorOf(size, 0.5), 50)
  return { cost: addRanges(addRanges(fixed(10), reading(size)), requirements) }
}

const divideUp = (a: bigint, b: bigint): bigint => BigInt(Math.ceil(Number(a) / Number(b)))

const replaces: Estimate = (c) => {
  const [text, old, by] = [c.target, c.arg(0), c.arg(1)]
  let count = { min: 0n, max: 0n }
  let kept = { min: 0n, max: 0n }
  if (old.min === 0n) {
    count = { ...count, max: text.max < unknownRange.max ? text.max + 1n : text.max }
    kept = { ...kept, max: text.max }
  } else if (by.max <= old.min) kept = { ...kept, max: text.max }
  else count = { ...count, max: divideUp(text.max, old.min) }
  if (old.max === 0n) {
    count = { ...count, min: text.min + 1n }
    kept = { ...kept, min: text.min }
  } else if (old.max <= by.min) kept = { ...kept, min: text.min }
  else count = { ...count, min: divideUp(text.min, old.max) }
  return { cost: reading(text, 2), size: addRanges(scale(count, by), kept) }
}

const splits: Estimate = (c) => ({
  cost: reading(c.target, 2),
  size: range(0, BigInt.asUintN(64, c.constant(1) ?? c.target.max)),
})

const joins: Estimate = (c) => {
  const list = c.target
  const { element } = c
  let size = element === undefined ? fixed(0) : scale(list, c.of(element))
  if (c.call.args.length > 0) {
    const less = (n: bigint): bigint => (n > 0n ? n - 1n : 0n)
    size = addRanges(size, scale(c.arg(0), range(less(list.min), less(list.max))))
  }
  return { cost: reading(size), size }
}

const finds: Estimate = (c) => ({
  cost: matching(c.target, c.arg(0)),
  size: range(0, c.target.max),
})

/** Addresses are 4 or 16 bytes. */
const addressSize = range(4, 16)
const compareAddresses = reading(addRanges(addressSize, addressSize))
const withText = (c: Sized, id: string, cost: CostRange): CallEstimate => ({
  cost: c.call.id === id ? addRanges(cost, reading(c.arg(0))) : cost,
})

const allocates = (factor: number, size: CostRange): CallEstimate => ({
  cost: addRanges(timesFactorOf(size, factor), fixed(11)),
  size,
})

const bounded = (value: bigint | undefined, otherwise: bigint): bigint =>
  value === undefined ? otherwise : value < 0n ? 0n : value

const slices: Estimate = (c) => {
  const length = bounded(c.constant(1), c.target.max) - bounded(c.constant(0), 0n)
  return allocates(1, fixed(BigInt.asUintN(64, length)))
}

const squared = (size: CostRange, isText: boolean): CallEstimate =>
  allocates(isText ? 2 + traversal : 2, scale(size, size))

const sets =
  (factor: number): Estimate =>
  (c) => ({ cost: addRanges(timesFactorOf(scale(c.arg(0), c.arg(1)), factor), atOnce) })

const constantTime = new Set([
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'net.CIDR',
  'net.IP',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.Decision',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.ResourceCheck',
])

/** Values of Kubernetes' own types are equal in constant time, or as long as their texts are. */
const kubernetesEquality: Estimate = (c) => {
  const [a, b] = c.call.args as [SizedNode, SizedNode]
  if (!isExactType(a.type, b.type)) return undefined
  if (constantTime.has(a.type.name)) return { cost: atOnce }
  if (a.type.name === 'kubernetes.NamedFormat') return { cost: reading(range(1, 64)) }
  return a.type.name === 'kubernetes.URL'
    ? { cost: reading(range(1, b.size?.max ?? 1n)) }
    : undefined
}

const smaller: Estimate = (c) => {
  const [a, b] = [c.arg(0), c.arg(1)]
  const max = least(a.max, b.max)
  return { cost: reading(range(max > 0n ? 1 : 0, max)) }
}

const each = (names: string, estimate: Estimate): Record<string, Estimate> =>
  Object.fromEntries(names.split(' ').map((name) => [name, estimate]))

const byFunction: Readonly<Record<string, Estimate>> = {
  check: () => ({ cost: fixed(authorizationCost) }),
  ...each(
    'serviceAccount path group resource subresource namespace name allowed reason error errored',
    nominal,
  ),
  ...each('fieldSelector labelSelector', selector),
  ...each('isSorted sum max min indexOf lastIndexOf', traverses),
  ...each('url jsonpatch.escapeKey', (c) => ({ cost: reading(c.arg(0)), size: c.arg(0) })),
  ...each('lowerAscii upperAscii substring trim', readsTarget),
  replace: replaces,
  split: splits,
  join: joins,
  ...each('find findAll', finds),
  ...each('cidr isIP isCIDR quantity isQuantity semver isSemver', readsArgument),
  ip: (c) => (c.call.id === 'cidr_ip' ? { cost: atOnce } : readsArgument(c)),
  'ip.isCanonical': (c) => ({ cost: reading(c.arg(0), 2) }),
  ...each(
    'masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast',
    nominal,
  ),
  containsIP: (c) => withText(c, 'cidr_contains_ip_string', compareAddresses),
  containsCIDR: (c) =>
    withText(
      c,
      'cidr_contains_cidr_string',
      addRanges(addRanges(compareAddresses, reading(addressSize)), atOnce),
    ),
  validate: (c) => ({ cost: timesFactorOf(reading(c.arg(0)), 128 * patternLength) }),
  ...each(
    'format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch',
    nominal,
  ),
  ...each('getScheme getHostname getHost getPort getEscapedPath getQuery', nominal),
  '_==_': kubernetesEquality,
}

const byOverload: Readonly<Record<string, Estimate>> = {
  string_format: (c) => ({ cost: reading(c.target) }),
  string_to_bytes: (c) => ({
    cost: reading(c.arg(0)),
    size: range(c.arg(0).min, BigInt.asUintN(64, c.arg(0).max * 4n)),
  }),
  bytes_to_string: (c) => ({
    cost: reading(c.arg(0)),
    size: range(c.arg(0).min / 4n, c.arg(0).max),
  }),
  strings_quote: (c) => ({
    cost: reading(c.arg(0)),
    size: range(c.arg(0).min + 2n, BigInt.asUintN(64, c.arg(0).max * 2n + 2n)),
  }),
  starts_with_string: readsArgument,
  ends_with_string: readsArgument,
  in_list: (c) => ({ cost: timesFactorOf(c.arg(1), 1) }),
  matches_string: (c) => ({ cost: matching(c.target, c.arg(0)) }),
  contains_string: (c) => ({ cost: scale(reading(c.target), reading(c.arg(0))) }),
  add_list: (c) => ({ cost: atOnce, size: addRanges(c.arg(0), c.arg(1)) }),
  ...each('add_string add_bytes', (c) => {
    const size = addRanges(c.arg(0), c.arg(1))
    return { cost: reading(size), size }
  }),
  ...each(
    ['less', 'greater', 'less_equals', 'greater_equals']
      .flatMap((name) => [`${name}_string`, `${name}_bytes`])
      .concat('equals', 'not_equals')
      .join(' '),
    smaller,
  ),
  list_slice: slices,
  ...each('list_flatten list_flatten_int', (c) =>
    allocates(
      c.call.args.length === 0 ? 1 : Number(bounded(c.constant(0), unknownRange.max)),
      c.target,
    ),
  ),
  lists_range: (c) => allocates(1, fixed(bounded(c.constant(0), unknownRange.max))),
  list_reverse: (c) => allocates(1, c.target),
  list_distinct: (c) => squared(c.target, false),
  list_sets_contains_list: sets(1),
  list_sets_intersects_list: sets(1),
  list_sets_equivalent_list: sets(2),
}

const sorting = (c: Sized): CallEstimate | undefined => {
  const match = /^list_(.+)_sort(ByAssociatedKeys)?$/.exec(c.call.id)
  if (match === null) return undefined
  const isText = match[1] === 'string' || match[1] === 'bytes'
  return squared(match[2] === undefined ? c.target : c.arg(0), isText)
}

const estimateOf = (c: Sized): CallEstimate => {
  const { name, id } = c.call
  const named = getOwn(byFunction, name)?.(c)
  const own = getOwn(byOverload, id)
  // Overloads of lists come before functions of the same name.
  const isList = id.startsWith('list_slice') || id.startsWith('list_flatten')
  return (isList ? own?.(c) : undefined) ?? sorting(c) ?? named ?? own?.(c) ?? { cost: atOnce }
}

export const estimateCall = (call: EstimatedCall): CallEstimate => {
  const sum = call.costs.reduce(addRanges, fixed(0))
  const [first, second, third] = call.costs
  if (call.id === 'logical_and' || call.id === 'logical_or')
    return { cost: { min: first!.min, max: sum.max } }
  const c = new Sized(call)
  if (call.id === 'conditional')
    return {
      cost: addRanges(first!, unionRanges(second!, third!)),
      size: unionRanges(c.arg(1), c.arg(2)),
    }
  const { cost, size } = estimateOf(c)
  return { cost: addRanges(cost, sum), size }
}
