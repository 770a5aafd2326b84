/** What an expression may name: variables, types with their fields, functions. */
import { getOwn } from '#json/object.js'
import type { Overload } from './declarations.js'
import { jsonPatchFunctions, kubernetesFunctions } from './functions-declared.js'
import {
  listOf,
  mapOf,
  opaqueType,
  optionalOf,
  structType,
  type Type,
  typeOfType,
  types,
} from './types.js'

/** The fields of a type by name. */
export type Fields = Readonly<Record<string, Type>>

/** A type with fields that are made when they are asked for; undefined: no such field. */
export type FieldLookup = (field: string) => Type | undefined

const builtIn: Readonly<Record<string, Type>> = {
  bool: types.bool,
  bytes: types.bytes,
  double: types.double,
  duration: types.duration,
  dyn: types.dyn,
  'google.protobuf.Duration': types.duration,
  'google.protobuf.Timestamp': types.timestamp,
  int: types.int,
  'kubernetes.NamedFormat': structType('kubernetes.NamedFormat'),
  'kubernetes.Quantity': structType('kubernetes.Quantity'),
  'kubernetes.Semver': structType('kubernetes.Semver'),
  'kubernetes.URL': structType('kubernetes.URL'),
  list: listOf(types.dyn),
  map: mapOf(types.dyn, types.dyn),
  'net.CIDR': opaqueType('net.CIDR'),
  'net.IP': opaqueType('net.IP'),
  null_type: types.null,
  optional_type: optionalOf(types.dyn),
  string: types.string,
  type: types.type,
  uint: types.uint,
}

export class Environment {
  readonly #variables: ReadonlyMap<string, Type>
  readonly #types: ReadonlyMap<string, FieldLookup>
  /** Prefixes under which every name is a type, as `Object.spec` of mutations. */
  readonly #openTypes: readonly ((name: string) => FieldLookup | undefined)[]
  readonly #hasJsonPatch: boolean
  /** `cel.bind` gives names to values. */
  readonly hasBindings: boolean

  private constructor(
    variables: ReadonlyMap<string, Type>,
    structs: ReadonlyMap<string, FieldLookup>,
    openTypes: readonly ((name: string) => FieldLookup | undefined)[],
    hasJsonPatch: boolean,
    hasBindings = false,
  ) {
    this.#variables = variables
    this.#types = structs
    this.#openTypes = openTypes
    this.#hasJsonPatch = hasJsonPatch
    this.hasBindings = hasBindings
  }

  static readonly base = new Environment(new Map(), new Map(), [], false)

  withVariables(variables: Readonly<Record<string, Type>>): Environment {
    const all = new Map([...this.#variables, ...Object.entries(variables)])
    return new Environment(all, this.#types, this.#openTypes, this.#hasJsonPatch)
  }
  withTypes(structs: Readonly<Record<string, Fields>>): Environment {
    const added = Object.entries(structs).map(([name, fields]): [string, FieldLookup] => [
      name,
      (field) => getOwn(fields, field),
    ])
    const all = new Map([...this.#types, ...added])
    return new Environment(this.#variables, all, this.#openTypes, this.#hasJsonPatch)
  }
  withOpenType(open: (name: string) => FieldLookup | undefined): Environment {
    const all = [...this.#openTypes, open]
    return new Environment(this.#variables, this.#types, all, this.#hasJsonPatch)
  }
  withBindings(): Environment {
    return new Environment(this.#variables, this.#types, this.#openTypes, this.#hasJsonPatch, true)
  }
  withJsonPatch(): Environment {
    return new Environment(this.#variables, this.#types, this.#openTypes, true)
  }

  /** The type of a variable, or `type(T)` of a type's name. */
  identifier(name: string): Type | undefined {
    const plain = name.startsWith('.') ? name.slice(1) : name
    const variable = this.#variables.get(plain)
    if (variable !== undefined) return variable
    if (Object.hasOwn(builtIn, plain)) return typeOfType(builtIn[plain]!)
    return this.struct(plain) === undefined ? undefined : typeOfType(structType(plain))
  }

  struct(name: string): FieldLookup | undefined {
    const known = this.#types.get(name)
    if (known !== undefined) return known
    for (const open of this.#openTypes) {
      const found = open(name)
      if (found !== undefined) return found
    }
    return undefined
  }

  functions(name: string): readonly Overload[] | undefined {
    const plain = name.startsWith('.') ? name.slice(1) : name
    return (
      kubernetesFunctions().get(plain) ??
      (this.#hasJsonPatch ? jsonPatchFunctions().get(plain) : undefined)
    )
  }
}
