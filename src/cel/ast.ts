/** The tree of an expression. The checker writes types and overloads into its nodes. */
import type { Type } from './types.js'
import type { CelValue } from './values.js'

interface Node {
  /** Offset in the text where messages point. */
  readonly at: number
  /** Set by the checker. */
  type?: Type
}

interface Constant extends Node {
  readonly kind: 'constant'
  readonly value: CelValue
}
export interface Identifier extends Node {
  readonly kind: 'identifier'
  name: string
}
export interface Select extends Node {
  readonly kind: 'select'
  readonly operand: Expression
  readonly field: string
  /** `has(operand.field)`. */
  readonly isTest: boolean
  /** Set by the checker when the whole chain is the name of a variable or type. */
  qualifiedName?: string
}
export interface Call extends Node {
  readonly kind: 'call'
  name: string
  target: Expression | undefined
  readonly args: readonly Expression[]
  /** Ids of the overloads that may be meant, from the checker. */
  overloads?: readonly string[]
}
export interface ListLiteral extends Node {
  readonly kind: 'list'
  readonly items: readonly { readonly value: Expression; readonly isOptional: boolean }[]
}
export interface MapEntry {
  readonly key: Expression
  readonly value: Expression
  readonly isOptional: boolean
}
export interface MapLiteral extends Node {
  readonly kind: 'map'
  readonly entries: readonly MapEntry[]
}
export interface FieldEntry {
  readonly at: number
  readonly name: string
  readonly value: Expression
  readonly isOptional: boolean
}
export interface StructLiteral extends Node {
  readonly kind: 'struct'
  readonly typeName: string
  readonly fields: readonly FieldEntry[]
}
/** What macros such as `all` and `map` become: a loop over `range` that ends in `result`. */
export interface Comprehension extends Node {
  readonly kind: 'comprehension'
  readonly range: Expression
  readonly variable: string
  readonly variable2: string | undefined
  readonly accumulator: string
  readonly initial: Expression
  readonly condition: Expression
  readonly step: Expression
  readonly result: Expression
}

export type Expression =
  | Call
  | Comprehension
  | Constant
  | Identifier
  | ListLiteral
  | MapLiteral
  | Select
  | StructLiteral

/** The expressions directly inside one. */
const childrenOf = (e: Expression): readonly Expression[] => {
  if (e.kind === 'select') return [e.operand]
  if (e.kind === 'call') return e.target === undefined ? e.args : [e.target, ...e.args]
  if (e.kind === 'list') return e.items.map((item) => item.value)
  if (e.kind === 'map') return e.entries.flatMap((entry) => [entry.key, entry.value])
  if (e.kind === 'struct') return e.fields.map((field) => field.value)
  if (e.kind === 'comprehension') return [e.range, e.initial, e.condition, e.step, e.result]
  return []
}

export const visitAll = (e: Expression, visit: (e: Expression, parents: Expression[]) => void) => {
  const parents: Expression[] = []
  const walk = (at: Expression): void => {
    visit(at, parents)
    parents.push(at)
    for (const child of childrenOf(at)) walk(child)
    parents.pop()
  }
  walk(e)
}

/** Whether one of its parts, or the expression itself, is such a one. */
export const hasPart = (e: Expression, isMeant: (e: Expression) => boolean): boolean => {
  let found = false
  visitAll(e, (part) => {
    found ||= isMeant(part)
  })
  return found
}

/** `a.b.c` of plain names. */
export const qualifiedNameOf = (e: Expression): string | undefined => {
  if (e.kind === 'identifier') return e.name
  if (e.kind !== 'select' || e.isTest) return undefined
  const operand = qualifiedNameOf(e.operand)
  return operand === undefined ? undefined : `${operand}.${e.field}`
}
