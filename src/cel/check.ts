/** Gives every node of a tree its type and its overloads, or says what is wrong (cel-go, checker/checker.go). */
import { limits } from '#limits'
import {
  type Call,
  type Comprehension,
  type Expression,
  type ListLiteral,
  type MapLiteral,
  qualifiedNameOf,
  type Select,
  type StructLiteral,
  visitAll,
} from './ast.js'
import type { Overload } from './declarations.js'
import type { Environment } from './environment.js'
import type { Problem } from './source-errors.js'
import {
  formatType,
  isDynamic,
  isDynOrError,
  isExactType,
  listOf,
  mapOf,
  mostGeneral,
  optionalOf,
  optionalParameter,
  paramType,
  Substitutions,
  type Type,
  type TypeKind,
  TypesTooLarge,
  types,
} from './types.js'
import { type CelValue, Uint } from './values.js'

interface Scope {
  readonly names: ReadonlyMap<string, Type>
  readonly outer: Scope | undefined
}

const constantType = (value: CelValue): Type => {
  if (value === null) return types.null
  if (typeof value === 'boolean') return types.bool
  if (typeof value === 'bigint') return types.int
  if (typeof value === 'number') return types.double
  if (typeof value === 'string') return types.string
  return value instanceof Uint ? types.uint : types.bytes
}

/** Upstream has no such bound, and runs out of memory instead. */
class TreeTooLarge extends Error {}

/** Types of protobuf that may be written as messages. */
const wellKnown = new Set<TypeKind>(['any', 'duration', 'dyn', 'null', 'timestamp'])

class Checker {
  readonly problems: Problem[] = []
  readonly #env: Environment
  readonly #substitutions = new Substitutions()
  #freeTypes = 0
  #visited = 0
  #scope: Scope | undefined

  constructor(env: Environment) {
    this.#env = env
  }

  /** Replaces what is still a type parameter in the types of the tree. */
  finish(root: Expression): void {
    visitAll(root, (e) => {
      e.type = this.#substitutions.resolve(e.type ?? types.error, true)
    })
  }

  check(e: Expression): Type {
    if (++this.#visited > limits.celTreeNodesMax) throw new TreeTooLarge()
    e.type = this.#typeOf(e)
    return e.type
  }

  #typeOf(e: Expression): Type {
    if (e.kind === 'constant') return constantType(e.value)
    if (e.kind === 'identifier') {
      const type = this.#lookup(e.name)
      return type ?? this.#problem(e.at, this.#undeclared(e.name))
    }
    if (e.kind === 'select') return this.#select(e)
    if (e.kind === 'call') return this.#call(e)
    if (e.kind === 'list') return this.#list(e)
    if (e.kind === 'map') return this.#map(e)
    return e.kind === 'struct' ? this.#struct(e) : this.#comprehension(e)
  }

  #problem(at: number, message: string): Type {
    this.problems.push({ at, message })
    return types.error
  }

  #undeclared(name: string): string {
    return `undeclared reference to '${name}' (in container '')`
  }

  #mismatch(at: number, expected: Type, found: Type): Type {
    return this.#problem(
      at,
      `expected type '${formatType(expected)}' but found '${formatType(found)}'`,
    )
  }

  #lookup(name: string): Type | undefined {
    for (let scope = this.#scope; scope !== undefined; scope = scope.outer) {
      const type = scope.names.get(name)
      if (type !== undefined) return type
    }
    return this.#env.identifier(name)
  }

  #fresh(): Type {
    return paramType(`_var${this.#freeTypes++}`)
  }

  #resolved(type: Type): Type {
    return this.#substitutions.resolve(type, false)
  }

  #select(e: Select): Type {
    const qualified = qualifiedNameOf(e)
    const type = qualified === undefined ? undefined : this.#lookup(qualified)
    if (type !== undefined) {
      e.qualifiedName = qualified
      return type
    }
    const field = this.#field(e.at, e.operand, e.field, false)
    return e.isTest ? types.bool : this.#resolved(field)
  }

  #field(at: number, operand: Expression, field: string, makeOptional: boolean): Type {
    const operandType = this.#resolved(this.check(operand))
    const inner = optionalParameter(operandType)
    const target = inner ?? operandType
    const result = this.#fieldOf(at, target, field)
    return inner !== undefined || makeOptional ? optionalOf(result) : result
  }

  #fieldOf(at: number, target: Type, field: string): Type {
    if (target.kind === 'map') return target.params[1]!
    if (target.kind === 'struct') {
      const fields = this.#env.struct(target.name)
      const known = fields?.(field)
      if (known !== undefined) return known
      return fields === undefined
        ? this.#problem(at, `unexpected failed resolution of '${target.name}'`)
        : this.#problem(at, `undefined field '${field}'`)
    }
    if (target.kind === 'param') this.#substitutions.assign(types.dyn, target)
    else if (!isDynOrError(target))
      this.#problem(at, `type '${formatType(target)}' does not support field selection`)
    return types.dyn
  }

  #optionalSelect(e: Call): Type {
    const [operand, field] = e.args as [Expression, Expression & { value: string }]
    field.type = types.string
    e.overloads = ['select_optional_field']
    return this.#resolved(this.#field(e.at, operand, field.value, true))
  }

  #call(e: Call): Type {
    if (e.name === '_?._') return this.#optionalSelect(e)
    for (const arg of e.args) this.check(arg)
    if (e.target !== undefined) {
      const prefix = qualifiedNameOf(e.target)
      const name = `${prefix}.${e.name}`
      const isNamespaced = prefix !== undefined && this.#env.functions(name) !== undefined
      if (isNamespaced) {
        e.name = name
        e.target = undefined
      } else this.check(e.target)
    }
    if (e.name.startsWith('.')) e.name = e.name.slice(1)
    const overloads = this.#env.functions(e.name)
    if (overloads === undefined) return this.#problem(e.at, this.#undeclared(e.name))
    return this.#resolveOverload(e, overloads)
  }

  #resolveOverload(e: Call, overloads: readonly Overload[]): Type {
    const all = e.target === undefined ? e.args : [e.target, ...e.args]
    const given = all.map((arg) => arg.type!)
    if (e.name === '_&&_' || e.name === '_||_') return this.#logical(e, all, overloads)
    const found: string[] = []
    let result: Type | undefined
    for (const overload of overloads) {
      if (overload.isMember !== (e.target !== undefined)) continue
      const { args, result: declared } = this.#instantiate(overload)
      if (!this.#substitutions.assignAll(given, args)) continue
      found.push(overload.id)
      const type = this.#resolved(declared)
      if (result === undefined) result = type
      else if (!isDynamic(result) && !isExactType(type, result)) result = types.dyn
    }
    if (result === undefined) {
      const shown = given.map((type) => formatType(this.#substitutions.resolve(type, true)))
      const receiver = e.target === undefined ? '' : `${shown.shift()}.`
      const signature = `${receiver}(${shown.join(', ')})`
      return this.#problem(
        e.at,
        `found no matching overload for '${e.name}' applied to '${signature}'`,
      )
    }
    e.overloads = found
    return result
  }

  #logical(e: Call, args: readonly Expression[], overloads: readonly Overload[]): Type {
    e.overloads = [overloads[0]!.id]
    let result: Type = types.bool
    for (const arg of args)
      if (!this.#substitutions.assign(arg.type!, types.bool))
        result = this.#mismatch(arg.at, types.bool, arg.type!)
    return result
  }

  /** The overload with type variables of its own. */
  #instantiate(overload: Overload): { args: readonly Type[]; result: Type } {
    if (overload.params.length === 0) return overload
    const fresh = new Map(overload.params.map((name) => [name, this.#fresh()]))
    const replace = (type: Type): Type =>
      type.kind === 'param'
        ? fresh.get(type.name)!
        : type.params.length === 0
          ? type
          : { ...type, params: type.params.map(replace) }
    return { args: overload.args.map(replace), result: replace(overload.result) }
  }

  #unwrapped(e: Expression, isOptional: boolean): Type {
    const type = this.check(e)
    if (!isOptional) return type
    const inner = optionalParameter(type)
    if (inner === undefined && !isDynamic(type)) this.#mismatch(e.at, optionalOf(type), type)
    return inner ?? type
  }

  /** What has no type in common is dyn; literals that mix types are refused later, but for those of `format`. */
  #join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current
    return this.#substitutions.assign(previous, current)
      ? mostGeneral(previous, current)
      : types.dyn
  }

  #list(e: ListLiteral): Type {
    let item: Type | undefined
    for (const { value, isOptional } of e.items)
      item = this.#join(item, this.#unwrapped(value, isOptional))
    return listOf(item ?? this.#fresh())
  }

  #map(e: MapLiteral): Type {
    let keys: Type | undefined
    let values: Type | undefined
    for (const { key, value, isOptional } of e.entries) {
      keys = this.#join(keys, this.check(key))
      values = this.#join(values, this.#unwrapped(value, isOptional))
    }
    return mapOf(keys ?? this.#fresh(), values ?? this.#fresh())
  }

  #struct(e: StructLiteral): Type {
    const type = this.#lookup(e.typeName)
    if (type === undefined) return this.#problem(e.at, this.#undeclared(e.typeName))
    if (type.kind !== 'type') return this.#problem(e.at, `'${type.name}' is not a type`)
    const [result = types.error] = type.params
    const isMessage = result.kind === 'struct' || wellKnown.has(result.kind)
    if (!isMessage) this.#problem(e.at, `'${result.name}' is not a message type`)
    const fields = isMessage ? this.#env.struct(result.name) : undefined
    for (const { at, name, value, isOptional } of e.fields) {
      const given = this.#unwrapped(value, isOptional)
      const wanted = fields?.(name) ?? this.#problem(at, `undefined field '${name}'`)
      if (!this.#substitutions.assign(wanted, given))
        this.#problem(
          at,
          `expected type of field '${name}' is '${formatType(wanted)}' but provided type is '${formatType(given)}'`,
        )
    }
    return isMessage ? result : types.error
  }

  #iterated(e: Comprehension, range: Type): { first: Type; second: Type } {
    if (range.kind === 'list') {
      const item = range.params[0]!
      return e.variable2 === undefined
        ? { first: item, second: item }
        : { first: types.int, second: item }
    }
    if (range.kind === 'map') return { first: range.params[0]!, second: range.params[1]! }
    // Not what is of type any, such as an attribute of a device.
    if (range.kind === 'dyn' || range.kind === 'error' || range.kind === 'param') {
      this.#substitutions.assign(types.dyn, range)
      return { first: types.dyn, second: types.dyn }
    }
    this.#problem(
      e.range.at,
      `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    )
    return { first: types.error, second: types.error }
  }

  #comprehension(e: Comprehension): Type {
    const range = this.#resolved(this.check(e.range))
    const accumulated = this.check(e.initial)
    const outer = this.#scope
    const { first, second } = this.#iterated(e, range)
    const whole: Scope = { names: new Map([[e.accumulator, accumulated]]), outer }
    const variables = new Map([[e.variable, first]])
    if (e.variable2 !== undefined) variables.set(e.variable2, second)
    this.#scope = { names: variables, outer: whole }
    this.check(e.condition)
    this.#assert(e.condition, types.bool)
    this.check(e.step)
    this.#assert(e.step, accumulated)
    this.#scope = whole
    const result = this.#resolved(this.check(e.result))
    this.#scope = outer
    return result
  }

  #assert(e: Expression, wanted: Type): void {
    if (!this.#substitutions.assign(wanted, e.type!)) this.#mismatch(e.at, wanted, e.type!)
  }
}

/** Writes the types into the tree; what it yields is empty for an expression that is right. */
export const check = (e: Expression, env: Environment): readonly Problem[] => {
  const checker = new Checker(env)
  try {
    checker.check(e)
    checker.finish(e)
    return checker.problems
  } catch (error) {
    if (error instanceof TreeTooLarge)
      return [{ at: -1, message: `expression exceeds ${limits.celTreeNodesMax} nodes` }]
    if (error instanceof TypesTooLarge)
      return [{ at: -1, message: 'types of the expression are too large' }]
    throw error
  }
}
