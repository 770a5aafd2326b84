/** Declarations of functions, parsed from their signatures: `overload_id: string.name(int, list(A)) -> A`. */
import { addToList } from '#collections/add-to-list.js'
import {
  listOf,
  mapOf,
  opaqueType,
  optionalOf,
  paramType,
  structType,
  type Type,
  typeOfType,
  types,
} from './types.js'

export interface Overload {
  readonly id: string
  readonly isMember: boolean
  /** The receiver first. */
  readonly args: readonly Type[]
  readonly result: Type
  /** Names of its type parameters. */
  readonly params: readonly string[]
}

export type Functions = ReadonlyMap<string, readonly Overload[]>

const words: Readonly<Record<string, Type>> = {
  any: types.any,
  bool: types.bool,
  bytes: types.bytes,
  double: types.double,
  duration: types.duration,
  dyn: types.dyn,
  int: types.int,
  null: types.null,
  string: types.string,
  timestamp: types.timestamp,
  type: types.type,
  uint: types.uint,
}
/** Kubernetes' own types that are opaque; the others are structs without fields. */
const opaque = new Set(['net.IP', 'net.CIDR'])

const parameterized: Readonly<Record<string, (params: readonly Type[]) => Type>> = {
  list: ([item]) => listOf(item!),
  map: ([key, value]) => mapOf(key!, value!),
  opt: ([of]) => optionalOf(of!),
  type: ([of]) => typeOfType(of!),
}

/** Reads the types of a signature from left to right. */
class TypeReader {
  #rest: string
  constructor(text: string) {
    this.#rest = text
  }

  takes(text: string): boolean {
    this.#rest = this.#rest.trimStart()
    if (!this.#rest.startsWith(text)) return false
    this.#rest = this.#rest.slice(text.length)
    return true
  }

  read(): Type {
    const name = /^\s*([\w.]+)/.exec(this.#rest)![1]!
    this.takes(name)
    const make = parameterized[name]
    if (make !== undefined && this.takes('(')) return make(this.list())
    if (words[name] !== undefined) return words[name]
    if (name.length === 1) return paramType(name)
    return opaque.has(name) ? opaqueType(name) : structType(name)
  }

  /** Up to the closing parenthesis. */
  list(): Type[] {
    const list: Type[] = []
    while (!this.takes(')')) {
      list.push(this.read())
      this.takes(',')
    }
    return list
  }
}

const paramsIn = (type: Type): string[] =>
  type.kind === 'param' ? [type.name] : type.params.flatMap(paramsIn)

const readType = (text: string): Type => new TypeReader(text).read()

/** A receiver stands before `::`; a name may have dots. */
const readOverload = (line: string): readonly [string, Overload] => {
  const colon = line.indexOf(': ')
  const arrow = line.lastIndexOf(' -> ')
  const [receiver, call] = line.slice(colon + 2, arrow).split('::') as [string, string | undefined]
  const isMember = call !== undefined
  const shape = call ?? receiver
  const open = shape.indexOf('(')
  const args = new TypeReader(shape.slice(open + 1)).list()
  const all = isMember ? [readType(receiver), ...args] : args
  const result = readType(line.slice(arrow + 4))
  const params = [...new Set([...all, result].flatMap(paramsIn))]
  return [shape.slice(0, open), { id: line.slice(0, colon), isMember, args: all, result, params }]
}

/** One overload a line; a line's receiver stands before `::`. */
export const readDeclarations = (...texts: readonly string[]): Functions => {
  const functions = new Map<string, Overload[]>()
  for (const line of texts.join('\n').split('\n')) {
    if (line.trim() === '') continue
    const [name, overload] = readOverload(line.trim())
    addToList(functions, name, overload)
  }
  return functions
}
