/** Macros and what they become (cel-go, parser/macro.go, ext/comprehensions.go, ext/lists.go, cel/library.go). */
import { getOwn } from '#json/object.js'
import type { Comprehension, Expression } from './ast.js'
import type { Problem } from './source-errors.js'
import type { CelValue } from './values.js'

/** The accumulator of every macro; no expression can name it. */
export const accumulator = '@result'

/** A macro whose arguments are not what it needs. */
export class MacroError extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}

/** `at`: where the call stands. */
type Expand = (at: number, target: Expression, args: readonly Expression[]) => Expression

const fail = (at: number, message: string): never => {
  throw new MacroError({ at, message })
}

const constant = (at: number, value: CelValue): Expression => ({ kind: 'constant', at, value })
const name = (at: number, text: string): Expression => ({ kind: 'identifier', at, name: text })
const accu = (at: number): Expression => name(at, accumulator)
const call = (at: number, fn: string, ...args: Expression[]): Expression => ({
  kind: 'call',
  at,
  name: fn,
  target: undefined,
  args,
})
const memberCall = (
  at: number,
  fn: string,
  target: Expression,
  ...args: Expression[]
): Expression => ({
  kind: 'call',
  at,
  name: fn,
  target,
  args,
})
const list = (at: number, ...items: Expression[]): Expression => ({
  kind: 'list',
  at,
  items: items.map((value) => ({ value, isOptional: false })),
})

type Loop = Pick<Comprehension, 'initial' | 'condition' | 'step'> & Partial<Comprehension>

const loop = (
  at: number,
  range: Expression,
  variables: readonly string[],
  parts: Loop,
): Expression => ({
  kind: 'comprehension',
  at,
  range,
  variable: variables[0]!,
  variable2: variables[1],
  accumulator,
  result: accu(at),
  ...parts,
})

const variableOf = (e: Expression, message: string): string => {
  if (e.kind !== 'identifier') return fail(e.at, message)
  if (e.name === accumulator || e.name === '__result__')
    fail(e.at, 'iteration variable overwrites accumulator variable')
  return e.name
}

const simpleName = 'argument must be a simple name'

/** The loop variables before the other arguments. */
const variablesOf = (
  args: readonly Expression[],
  count: number,
  message = simpleName,
): string[] => {
  if (count === 1) return [variableOf(args[0]!, message)]
  for (const arg of args.slice(0, 2)) if (arg.kind !== 'identifier') fail(arg.at, message)
  const [first, second] = args as [Expression & { name: string }, Expression & { name: string }]
  if (first.name === second.name) fail(second.at, `duplicate variable name: ${first.name}`)
  return [variableOf(first, message), variableOf(second, message)]
}

const isNotFalse = (at: number, e: Expression): Expression => call(at, '@not_strictly_false', e)

const all =
  (count: number): Expand =>
  (at, target, args) =>
    loop(at, target, variablesOf(args, count), {
      initial: constant(at, true),
      condition: isNotFalse(at, accu(at)),
      step: call(at, '_&&_', accu(at), args[count]!),
    })

const exists =
  (count: number): Expand =>
  (at, target, args) =>
    loop(at, target, variablesOf(args, count), {
      initial: constant(at, false),
      condition: isNotFalse(at, call(at, '!_', accu(at))),
      step: call(at, '_||_', accu(at), args[count]!),
    })

const existsOne =
  (count: number): Expand =>
  (at, target, args) =>
    loop(at, target, variablesOf(args, count), {
      initial: constant(at, 0n),
      condition: constant(at, true),
      step: call(at, '_?_:_', args[count]!, call(at, '_+_', accu(at), constant(at, 1n)), accu(at)),
      result: call(at, '_==_', accu(at), constant(at, 1n)),
    })

/** Adds something to what is collected, for the elements that pass the filter. */
const collect = (
  at: number,
  target: Expression,
  variables: readonly string[],
  parts: { initial: Expression; filter: Expression | undefined; add: Expression },
): Expression =>
  loop(at, target, variables, {
    initial: parts.initial,
    condition: constant(at, true),
    step:
      parts.filter === undefined ? parts.add : call(at, '_?_:_', parts.filter, parts.add, accu(at)),
  })

const toList =
  (count: number, message: string): Expand =>
  (at, target, args) =>
    collect(at, target, variablesOf(args, count, message), {
      initial: list(at),
      filter: args.length === count + 2 ? args[count] : undefined,
      add: call(at, '_+_', accu(at), list(at, args.at(-1)!)),
    })

const filter: Expand = (at, target, args) =>
  collect(at, target, variablesOf(args, 1, 'argument is not an identifier'), {
    initial: list(at),
    filter: args[1]!,
    add: call(at, '_+_', accu(at), list(at, args[0]!)),
  })

const toMap =
  (isEntry: boolean): Expand =>
  (at, target, args) => {
    const variables = variablesOf(args, 2)
    const added = isEntry ? [args.at(-1)!] : [name(at, variables[0]!), args.at(-1)!]
    return collect(at, target, variables, {
      initial: { kind: 'map', at, entries: [] },
      filter: args.length === 4 ? args[2] : undefined,
      add: call(at, 'cel.@mapInsert', accu(at), ...added),
    })
  }

/** `value` under a name, in an expression: a loop that never runs. */
const bind = (at: number, variable: string, value: Expression, result: Expression): Expression =>
  loop(at, list(at), ['#unused'], {
    accumulator: variable,
    initial: value,
    condition: constant(at, false),
    step: name(at, variable),
    result,
  })

const optionalMap =
  (fn: string, isFlat: boolean): Expand =>
  (at, target, args) => {
    const variable = args[0]!
    if (variable.kind !== 'identifier')
      return fail(variable.at, `${fn}() variable name must be a simple identifier`)
    const value = memberCall(at, 'value', target)
    const mapped = bind(at, variable.name, value, args[1]!)
    return call(
      at,
      '_?_:_',
      memberCall(at, 'hasValue', target),
      isFlat ? mapped : call(at, 'optional.of', mapped),
      call(at, 'optional.none'),
    )
  }

const sortInput = '@__sortBy_input__'
const sortBy: Expand = (at, target, args) => {
  if (target.kind === 'constant' || target.kind === 'map' || target.kind === 'struct')
    return fail(
      target.at,
      'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
    )
  const keys = toList(1, 'argument is not an identifier')(at, name(at, sortInput), args)
  return bind(
    at,
    sortInput,
    target,
    memberCall(at, '@sortByAssociatedKeys', name(at, sortInput), keys),
  )
}

/** `cel.bind(name, value, result)`. */
export const expandBinding = (at: number, args: readonly Expression[]): Expression => {
  const [variable, value, result] = args as [Expression, Expression, Expression]
  return variable.kind === 'identifier'
    ? bind(at, variable.name, value, result)
    : fail(variable.at, 'cel.bind() variable names must be simple identifiers')
}

const notIdentifier = 'argument is not an identifier'

/** By name and number of arguments. */
const receiverMacros: Readonly<Record<string, Expand>> = {
  'all:2': all(1),
  'all:3': all(2),
  'exists:2': exists(1),
  'exists:3': exists(2),
  'exists_one:2': existsOne(1),
  'exists_one:3': existsOne(2),
  'existsOne:3': existsOne(2),
  'filter:2': filter,
  'map:2': toList(1, notIdentifier),
  'map:3': toList(1, notIdentifier),
  'optFlatMap:2': optionalMap('optFlatMap', true),
  'optMap:2': optionalMap('optMap', false),
  'sortBy:2': sortBy,
  'transformList:3': toList(2, simpleName),
  'transformList:4': toList(2, simpleName),
  'transformMap:3': toMap(false),
  'transformMap:4': toMap(false),
  'transformMapEntry:3': toMap(true),
  'transformMapEntry:4': toMap(true),
}

/** The call itself when it is no macro. */
export const expandCall = (
  at: number,
  fn: string,
  target: Expression | undefined,
  args: readonly Expression[],
): Expression => {
  if (target === undefined && fn === 'has' && args.length === 1) {
    const [selection] = args as [Expression]
    if (selection.kind !== 'select') return fail(selection.at, 'invalid argument to has() macro')
    return { ...selection, at, isTest: true }
  }
  const key = `${fn}:${args.length}`
  const expand = getOwn(receiverMacros, key)
  if (target !== undefined && expand !== undefined) return expand(at, target, args)
  return { kind: 'call', at, name: fn, target, args }
}
