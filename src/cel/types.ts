/** Types of CEL expressions, and how two of them agree (cel-go, checker/types.go). */
import { limits } from '#limits'

export type TypeKind =
  | 'any'
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'param'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'uint'

export interface Type {
  readonly kind: TypeKind
  readonly name: string
  readonly params: readonly Type[]
}

const simple = (kind: TypeKind, name: string = kind): Type => ({ kind, name, params: [] })

export const types = {
  any: simple('any', 'google.protobuf.Any'),
  bool: simple('bool'),
  bytes: simple('bytes'),
  double: simple('double'),
  duration: simple('duration', 'google.protobuf.Duration'),
  dyn: simple('dyn'),
  error: simple('error', '!error!'),
  int: simple('int'),
  null: simple('null', 'null_type'),
  string: simple('string'),
  timestamp: simple('timestamp', 'google.protobuf.Timestamp'),
  type: simple('type'),
  uint: simple('uint'),
} as const

export const listOf = (item: Type): Type => ({ kind: 'list', name: 'list', params: [item] })
export const mapOf = (key: Type, value: Type): Type => ({
  kind: 'map',
  name: 'map',
  params: [key, value],
})
export const structType = (name: string): Type => simple('struct', name)
export const paramType = (name: string): Type => simple('param', name)
export const typeOfType = (of: Type): Type => ({ kind: 'type', name: 'type', params: [of] })
export const opaqueType = (name: string, ...params: Type[]): Type => ({
  kind: 'opaque',
  name,
  params,
})
export const optionalOf = (of: Type): Type => opaqueType('optional_type', of)

const isDyn = (type: Type): boolean => type.kind === 'dyn' || type.kind === 'any'
export const isDynOrError = (type: Type): boolean => isDyn(type) || type.kind === 'error'
export const isDynamic = isDyn
export const optionalParameter = (type: Type): Type | undefined =>
  type.kind === 'opaque' && type.name === 'optional_type' ? type.params[0] : undefined

const shortNames: Partial<Record<TypeKind, string>> = {
  any: 'any',
  duration: 'duration',
  null: 'null',
  timestamp: 'timestamp',
}

/** As messages of the checker print a type. */
export const formatType = (type: Type): string => {
  const short = shortNames[type.kind]
  if (short !== undefined) return short
  return type.params.length === 0
    ? type.name
    : `${type.name}(${type.params.map(formatType).join(', ')})`
}

/** As a type prints itself: `null_type`, `google.protobuf.Timestamp`. */
export const typeText = (type: Type): string =>
  type.params.length === 0 ? type.name : `${type.name}(${type.params.map(typeText).join(', ')})`

export const isExactType = (a: Type, b: Type): boolean =>
  a === b ||
  (a.kind === b.kind &&
    a.name === b.name &&
    a.params.length === b.params.length &&
    a.params.every((param, i) => isExactType(param, b.params[i]!)))

const accepts = (to: Type, from: Type): boolean =>
  isDyn(to) ||
  (to.kind === from.kind &&
    to.name === from.name &&
    to.params.length === from.params.length &&
    to.params.every((param, i) => accepts(param, from.params[i]!)))

const isNullable = ({ kind }: Type): boolean =>
  ['opaque', 'struct', 'any', 'duration', 'timestamp', 'null'].includes(kind)

const isEqualOrLessSpecific = (a: Type, b: Type): boolean => {
  if (isDyn(a) || a.kind === 'param') return true
  if (isDyn(b) || b.kind === 'param' || a.kind !== b.kind) return false
  if (a.kind === 'type') return true
  if (a.kind === 'list' || a.kind === 'map' || a.kind === 'opaque')
    return (
      a.name === b.name &&
      a.params.length === b.params.length &&
      a.params.every((param, i) => isEqualOrLessSpecific(param, b.params[i]!))
    )
  return isExactType(a, b)
}

export const mostGeneral = (a: Type, b: Type): Type => (isEqualOrLessSpecific(a, b) ? a : b)

/** Types that double with each step. Upstream has no such bound, and runs out of memory instead. */
export class TypesTooLarge extends Error {}

/** What the type parameters of a check stand for so far. */
export class Substitutions {
  readonly #bound = new Map<string, Type>()
  /** What the parameters that are bound now stood for before. */
  #undo: (readonly [string, Type | undefined])[] = []
  #looked = 0

  /** Counts the types that are looked at: each may be a part of itself many times over. */
  #look(): void {
    if (++this.#looked > limits.celTypesLookedMax) throw new TypesTooLarge()
  }

  /** True when `a` and `b` agree; what that binds is kept only then. */
  assign(a: Type, b: Type): boolean {
    return this.assignAll([a], [b])
  }

  assignAll(as: readonly Type[], bs: readonly Type[]): boolean {
    this.#undo = []
    if (this.#agreeAll(as, bs)) return true
    for (const [name, before] of this.#undo.reverse()) {
      if (before === undefined) this.#bound.delete(name)
      else this.#bound.set(name, before)
    }
    return false
  }

  /** The type with its bound parameters replaced; free ones become dyn when asked. */
  resolve(type: Type, freeToDyn: boolean): Type {
    this.#look()
    if (type.kind === 'param') {
      const bound = this.#bound.get(type.name)
      if (bound !== undefined) return this.resolve(bound, freeToDyn)
      return freeToDyn ? types.dyn : type
    }
    if (type.params.length === 0) return type
    return { ...type, params: type.params.map((param) => this.resolve(param, freeToDyn)) }
  }

  #agreeAll(as: readonly Type[], bs: readonly Type[]): boolean {
    return as.length === bs.length && as.every((a, i) => this.#agree(a, bs[i]!))
  }

  #agree(a: Type, b: Type): boolean {
    this.#look()
    if (b.kind === 'param') {
      const { valid, isBound } = this.#substitutes(a, b)
      if (valid || isBound) return valid
    }
    if (a.kind === 'param') return this.#substitutes(b, a).valid
    if (isDynOrError(a) || isDynOrError(b)) return true
    if (a.kind === 'null') return isNullable(b)
    if (b.kind === 'null') return isNullable(a)
    if (a.kind === 'type') return b.kind === 'type'
    if (a.kind === 'list' || a.kind === 'map' || a.kind === 'opaque')
      return a.kind === b.kind && a.name === b.name && this.#agreeAll(a.params, b.params)
    return accepts(b, a)
  }

  /** Whether `type` can stand for the parameter, and whether the parameter stood for something before. */
  #substitutes(type: Type, param: Type): { valid: boolean; isBound: boolean } {
    if (type.kind === 'param' && type.name === param.name) return { valid: true, isBound: true }
    const bound = this.#bound.get(param.name)
    if (bound !== undefined) {
      if (isExactType(type, bound)) return { valid: true, isBound: true }
      if (!this.#agree(type, bound)) return { valid: false, isBound: true }
      const wider = mostGeneral(type, bound)
      if (!this.#occursIn(param, wider)) this.#bind(param.name, wider)
      return { valid: true, isBound: true }
    }
    if (this.#occursIn(param, type)) return { valid: false, isBound: false }
    this.#bind(param.name, type)
    return { valid: true, isBound: false }
  }

  #bind(name: string, type: Type): void {
    this.#undo.push([name, this.#bound.get(name)])
    this.#bound.set(name, type)
  }

  #occursIn(param: Type, type: Type): boolean {
    this.#look()
    if (type.kind === 'param') {
      if (type.name === param.name) return true
      const bound = this.#bound.get(type.name)
      return bound !== undefined && this.#occursIn(param, bound)
    }
    return type.params.some((inner) => this.#occursIn(param, inner))
  }
}
