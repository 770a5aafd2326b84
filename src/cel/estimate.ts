/** What an expression may cost at most, before it runs (cel-go, checker/cost.go). */
import { addToList } from '#collections/add-to-list.js'
import type { Call, Comprehension, Expression, ListLiteral, MapLiteral, Select } from './ast.js'
import { estimateCall } from './estimate-calls.js'
import {
  addRanges,
  type CostRange,
  type EntrySizes,
  fixed,
  type SizedNode,
  type SizeOfPath,
  scale,
  unionRanges,
  unknownRange,
} from './estimate-ranges.js'
import { accumulator } from './macros.js'
import { optionalParameter, type Type, types } from './types.js'
import { codePointsOf } from './values.js'

const scalars = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint'])
const isScalar = (type: Type): boolean => {
  const inner = optionalParameter(type)
  return inner === undefined ? scalars.has(type.kind) : isScalar(inner)
}

/** What is known of a variable of a loop. */
interface Local {
  readonly path: readonly string[]
  readonly size: CostRange | undefined
  readonly entries: EntrySizes | undefined
}

/** The size of what is written in the expression itself. */
const literalSize = (e: Expression): CostRange | undefined => {
  if (e.kind === 'list') return fixed(e.items.length)
  if (e.kind === 'map') return fixed(e.entries.length)
  if (e.kind !== 'constant') return undefined
  if (typeof e.value === 'string') return fixed(codePointsOf(e.value).length)
  return fixed(e.value instanceof Uint8Array ? e.value.length : 1)
}

class Coster {
  readonly #paths = new Map<Expression, readonly string[]>()
  readonly #sizes = new Map<Expression, CostRange>()
  readonly #entries = new Map<Expression, EntrySizes>()
  readonly #locals = new Map<string, Local[]>()
  readonly #sizeOfPath: SizeOfPath

  constructor(sizeOfPath: SizeOfPath) {
    this.#sizeOfPath = sizeOfPath
  }

  cost(e: Expression): CostRange {
    if (e.kind === 'constant') return fixed(0)
    if (e.kind === 'identifier') {
      this.#paths.set(e, this.#local(e.name)?.path ?? [e.name])
      return fixed(1)
    }
    if (e.kind === 'select') return this.#select(e)
    if (e.kind === 'call') return this.#call(e)
    if (e.kind === 'list') return this.#list(e)
    if (e.kind === 'map') return this.#map(e)
    if (e.kind === 'struct')
      return e.fields.reduce((sum, { value }) => addRanges(sum, this.cost(value)), fixed(40))
    return this.#isBind(e) ? this.#bind(e) : this.#comprehension(e)
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1)
  }

  #push(name: string, local: Local): void {
    addToList(this.#locals, name, local)
  }

  #pop(name: string): void {
    this.#locals.get(name)!.pop()
  }

  #pathOf(e: Expression): readonly string[] {
    const local = e.kind === 'identifier' ? this.#local(e.name) : undefined
    return local?.path ?? this.#paths.get(e) ?? []
  }

  #sizeOf(e: Expression): CostRange | undefined {
    const known = this.#sizes.get(e) ?? literalSize(e)
    if (known !== undefined) return known
    const path = this.#pathOf(e)
    const found = path.length === 0 ? undefined : this.#sizeOfPath(path)
    if (found !== undefined) {
      this.#sizes.set(e, found)
      return found
    }
    if (isScalar(e.type ?? types.error)) return fixed(1)
    return e.kind === 'identifier' ? this.#local(e.name)?.size : undefined
  }

  #sizeOrUnknown(e: Expression): CostRange {
    return this.#sizeOf(e) ?? unknownRange
  }

  #entriesOf(e: Expression): EntrySizes | undefined {
    const known = this.#entries.get(e)
    if (known !== undefined || e.kind !== 'identifier') return known
    return this.#local(e.name)?.entries
  }

  #select(e: Select): CostRange {
    if (e.qualifiedName !== undefined) {
      this.#paths.set(e, [e.qualifiedName])
      return fixed(1)
    }
    const operand = this.cost(e.operand)
    if (e.isTest) return operand
    this.#paths.set(e, [...this.#pathOf(e.operand), e.field])
    const kind = e.operand.type?.kind
    const isCharged = kind === 'map' || kind === 'struct' || kind === 'param'
    return isCharged ? addRanges(operand, fixed(1)) : operand
  }

  /** An accumulator has no place in the data. */
  #node(e: Expression): SizedNode {
    const path = this.#pathOf(e)
    return {
      path: path[0] === accumulator ? [] : path,
      type: e.type ?? types.error,
      expression: e,
      size: this.#sizeOf(e),
    }
  }

  #call(e: Call): CostRange {
    if (e.name === 'dyn') return this.#dynamic(e)
    const costs = e.args.map((arg) => this.cost(arg))
    const args = e.args.map((arg) => this.#node(arg))
    const ids = e.overloads ?? []
    if (ids.length === 0) return fixed(0)
    const targetCost = e.target === undefined ? fixed(0) : this.cost(e.target)
    const target = e.target === undefined ? undefined : this.#node(e.target)
    let total: CostRange | undefined
    let size: CostRange | undefined
    for (const id of ids) {
      const estimate = estimateCall({
        name: e.name,
        id,
        target,
        args,
        costs,
        sizeOfPath: this.#sizeOfPath,
      })
      total = total === undefined ? estimate.cost : unionRanges(total, estimate.cost)
      if (estimate.size !== undefined)
        size = size === undefined ? estimate.size : unionRanges(size, estimate.size)
      this.#noteEntries(e, id)
      if (id === 'index_list' || id === 'index_map') {
        size = this.#entriesOf(e.args[0]!)?.value
        const step = id === 'index_list' ? '@items' : '@values'
        this.#paths.set(e, [...this.#pathOf(e.args[0]!), step])
      }
      size ??= this.#sizeOf(e)
    }
    if (size !== undefined) this.#sizes.set(e, size)
    return addRanges(targetCost, total!)
  }

  /** Sizes of the elements go through what joins or chooses. */
  #noteEntries(e: Call, id: string): void {
    const isChoice = id === 'conditional'
    if (!isChoice && !['add_string', 'add_bytes', 'add_list'].includes(id)) return
    const a = this.#entriesOf(e.args[isChoice ? 1 : 0]!)
    const b = this.#entriesOf(e.args[isChoice ? 2 : 1]!)
    if (a === undefined || b === undefined) return
    this.#entries.set(e, {
      isList: a.isList,
      key: unionRanges(a.key, b.key),
      value: unionRanges(a.value, b.value),
    })
  }

  #dynamic(e: Call): CostRange {
    const [arg] = e.args as [Expression]
    const cost = this.cost(arg)
    this.#copySizes(e, arg)
    return addRanges(fixed(1), cost)
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#sizeOf(from)
    if (size !== undefined) this.#sizes.set(to, size)
    const entries = this.#entriesOf(from)
    if (entries !== undefined) this.#entries.set(to, entries)
  }

  #list(e: ListLiteral): CostRange {
    let sum = fixed(10)
    let value: CostRange | undefined
    for (const item of e.items) {
      sum = addRanges(sum, this.cost(item.value))
      const size = this.#sizeOrUnknown(item.value)
      value = value === undefined ? size : unionRanges(value, size)
    }
    this.#entries.set(e, { isList: true, key: fixed(1), value: value ?? fixed(0) })
    return sum
  }

  #map(e: MapLiteral): CostRange {
    let sum = fixed(30)
    let key: CostRange | undefined
    let value: CostRange | undefined
    for (const entry of e.entries) {
      sum = addRanges(addRanges(sum, this.cost(entry.key)), this.cost(entry.value))
      const [k, v] = [this.#sizeOrUnknown(entry.key), this.#sizeOrUnknown(entry.value)]
      key = key === undefined ? k : unionRanges(key, k)
      value = value === undefined ? v : unionRanges(value, v)
    }
    this.#entries.set(e, { isList: false, key: key ?? fixed(0), value: value ?? fixed(0) })
    return sum
  }

  #isBind(e: Comprehension): boolean {
    const isEmpty = e.range.kind === 'list' && e.range.items.length === 0
    const isNever = e.condition.kind === 'constant' && e.condition.value === false
    return isEmpty && isNever && e.accumulator !== accumulator
  }

  #bind(e: Comprehension): CostRange {
    const sum = addRanges(this.cost(e.range), this.cost(e.initial))
    this.#pushValue(e.accumulator, e.initial)
    const result = this.cost(e.result)
    this.#pop(e.accumulator)
    this.#copySizes(e, e.result)
    return addRanges(sum, result)
  }

  #pushValue(name: string, e: Expression): void {
    this.#push(name, { path: this.#pathOf(e), size: this.#sizeOf(e), entries: this.#entriesOf(e) })
  }

  #pushVariables(e: Comprehension): void {
    const entries = this.#entriesOf(e.range)
    const isList = entries?.isList ?? e.range.type?.kind === 'list'
    const path = this.#pathOf(e.range)
    const push = (name: string, step: string, size: CostRange | undefined) =>
      this.#push(name, { path: [...path, step], size, entries: undefined })
    if (e.variable2 === undefined) {
      if (isList) push(e.variable, '@items', entries?.value)
      else push(e.variable, '@keys', entries?.key)
      return
    }
    push(e.variable, isList ? '@indices' : '@keys', entries?.key)
    push(e.variable2, isList ? '@items' : '@values', entries?.value)
  }

  #comprehension(e: Comprehension): CostRange {
    let sum = addRanges(this.cost(e.range), this.cost(e.initial))
    this.#pushValue(e.accumulator, e.initial)
    this.#pushVariables(e)
    const condition = this.cost(e.condition)
    const step = this.cost(e.step)
    this.#pop(e.variable)
    if (e.variable2 !== undefined) this.#pop(e.variable2)
    sum = addRanges(sum, this.cost(e.result))
    this.#pop(e.accumulator)
    const count = this.#sizeOrUnknown(e.range)
    this.#sizeOfResult(e, count)
    return addRanges(sum, scale(count, addRanges(step, condition)))
  }

  #sizeOfResult(e: Comprehension, count: CostRange): void {
    if (e.initial.kind === 'constant') {
      const size = this.#sizeOf(e.initial)
      if (size !== undefined) this.#sizes.set(e, size)
    } else if (e.initial.kind === 'list' || e.initial.kind === 'map') {
      this.#sizes.set(e, count)
      const entries = this.#entriesOf(e.step)
      if (entries !== undefined) this.#entries.set(e, entries)
    }
  }
}

export const estimateCost = (e: Expression, sizeOfPath: SizeOfPath): CostRange =>
  new Coster(sizeOfPath).cost(e)
