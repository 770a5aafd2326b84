/** Finds what a call runs: the operators look at their values themselves, functions by the types of their overloads. */

import { getOwn } from '#json/object.js'
import type { Overload } from './declarations.js'
import type { Implementation } from './evaluation.js'
import { addressFunctions } from './functions/addresses.js'
import { authorizerFunctions } from './functions/authorizer.js'
import { conversionFunctions } from './functions/conversions.js'
import { listFunctions } from './functions/lists.js'
import { formatFunctions } from './functions/named-formats.js'
import { operators } from './functions/operators.js'
import { optionalFunctions } from './functions/optionals.js'
import { quantityFunctions } from './functions/quantities.js'
import { stringFunctions } from './functions/strings.js'
import { timeFunctions } from './functions/time-parts.js'
import { urlFunctions } from './functions/urls.js'
import { semverFunctions } from './functions/versions.js'
import { jsonPatchFunctions, kubernetesFunctions } from './functions-declared.js'
import type { Type } from './types.js'
import { CelError, type CelValue, MapValue, noSuchOverload, typeNameOf } from './values.js'
import { work } from './work.js'

const functions: Readonly<Record<string, Implementation>> = {
  ...addressFunctions,
  ...authorizerFunctions,
  ...conversionFunctions,
  ...formatFunctions,
  ...listFunctions,
  ...optionalFunctions,
  ...quantityFunctions,
  ...semverFunctions,
  ...stringFunctions,
  ...timeFunctions,
  ...urlFunctions,
}

/** Whether a value is of a declared type, as far as cel-go looks: of lists and maps it is at the first element. */
const fits = (type: Type, value: CelValue, looksInside: boolean): boolean => {
  if (type.kind === 'dyn' || type.kind === 'any' || type.kind === 'param') return true
  const [first, second] = type.params
  if (type.kind === 'list')
    return (
      Array.isArray(value) && (!looksInside || value.length === 0 || fits(first!, value[0], true))
    )
  if (type.kind === 'map') {
    if (!(value instanceof MapValue)) return false
    const [key] = looksInside ? value.keys() : []
    const inner = key === undefined ? undefined : value.get(key)
    return inner === undefined || (fits(first!, key!, true) && fits(second!, inner, true))
  }
  return type.name === typeNameOf(value)
}

/** Functions whose overloads are not looked at so closely, and say no more than that there is none. */
const unguarded = new Set(
  'contains endsWith find findAll flatten matches sort startsWith @sortByAssociatedKeys'.split(' '),
)

/** What is read or made of texts. */
const charge = (value: CelValue): void => {
  if (typeof value === 'string' || value instanceof Uint8Array) work(value.length / 10)
}

const candidates = (name: string, ids: readonly string[]): readonly Overload[] => {
  const declared = kubernetesFunctions().get(name) ?? jsonPatchFunctions().get(name) ?? []
  return declared.filter((overload) => ids.includes(overload.id))
}

export const implementationOf = (name: string, ids: readonly string[]): Implementation => {
  const operator = getOwn(operators, name)
  if (operator !== undefined) return operator
  const overloads = candidates(name, ids)
  const isGuarded = !unguarded.has(name)
  return (...args: CelValue[]) => {
    const overload = overloads.find(
      (o) =>
        o.args.length === args.length && o.args.every((type, i) => fits(type, args[i]!, isGuarded)),
    )
    if (overload !== undefined) {
      args.forEach(charge)
      const result = functions[overload.id]!(...args)
      charge(result)
      return result
    }
    if (!isGuarded) throw noSuchOverload()
    throw new CelError(`no such overload: ${name}(${args.map(typeNameOf).join(', ')})`)
  }
}
