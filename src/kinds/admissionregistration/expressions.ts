/** Whether the expressions of policies and match conditions compile, and to the wanted type. */

import { each } from '#api/each.js'
import { child, type FieldError, internal, invalid, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { reserved } from '#cel/grammar.js'
import {
  compilePolicyExpression,
  type PolicyExpression,
  type PolicyNames,
  results,
} from '#cel/policy-environment.js'
import type { Type } from '#cel/types.js'
import { trimSpace } from '#go/trim-space.js'

const refusalOf = (
  path: string,
  printed: string,
  { error, isInternal }: PolicyExpression,
): FieldError[] => {
  if (error === undefined) return []
  return [isInternal ? internal(path, error) : invalid(path, printed, error)]
}

/** Nothing for an expression that is missing: that is reported as such. `printed` when it is not what is compiled. */
export const expressionErrors = (
  path: string,
  text: string | undefined,
  names: PolicyNames,
  wanted: readonly Type[],
  printed = text,
): FieldError[] => {
  if (text === undefined || trimSpace(text) === '') return []
  return refusalOf(path, printed ?? '', compilePolicyExpression(text, names, wanted))
}

export const namesOfPolicy = ({ spec }: KubeObject): PolicyNames => ({
  params: Boolean(spec.paramKind),
  ...((spec.variables ?? []).length === 0
    ? {}
    : { variables: variableTypes(spec.variables, Boolean(spec.paramKind)).types }),
})

interface Variable {
  name?: string
  expression?: string
}

/** Each variable may name those before it. */
export const variableTypes = (
  variables: readonly Variable[],
  params: boolean,
): { types: ReadonlyMap<string, Type>; errors: FieldError[] } => {
  const types = new Map<string, Type>()
  const errors = each('spec.variables', variables, ({ name = '', expression = '' }, at) => {
    const found: FieldError[] = []
    const isIdentifier = /^[_a-zA-Z]\w*$/.test(name) && !reserved.has(name)
    if (trimSpace(name) === '') found.push(required(child(at, 'name'), 'name is not specified'))
    else if (!isIdentifier)
      found.push(invalid(child(at, 'name'), name, 'must be a valid CEL identifier'))
    if (trimSpace(expression) === '') {
      found.push(required(child(at, 'expression'), 'expression is not specified'))
      return found
    }
    const names = { params, variables: types }
    const checked = compilePolicyExpression(expression, names, results.anything)
    found.push(...refusalOf(child(at, 'expression'), expression, checked))
    if (isIdentifier) types.set(name, checked.type)
    return found
  })
  return { types, errors }
}
