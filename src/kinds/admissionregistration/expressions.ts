/** Whether the expressions of policies and match conditions compile to what is wanted of them. */
import { child, type FieldError, index, internal, invalid } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import {
  compilePolicyExpression,
  type PolicyExpression,
  type PolicyNames,
  results,
} from '#cel/policy-environment.js'
import type { Type } from '#cel/types.js'

const isBlank = (text: string | undefined): boolean => (text ?? '').trim() === ''

const refusalOf = (
  path: string,
  text: string,
  { error, isInternal }: PolicyExpression,
): FieldError[] => {
  if (error === undefined) return []
  return [isInternal ? internal(path, error) : invalid(path, text, error)]
}

/** Nothing for an expression that is missing: that is reported as such. */
export const expressionErrors = (
  path: string,
  text: string | undefined,
  names: PolicyNames,
  wanted: readonly Type[],
): FieldError[] => {
  if (isBlank(text)) return []
  const trimmed = text!.trim()
  return refusalOf(path, trimmed, compilePolicyExpression(trimmed, names, wanted))
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
): { types: Record<string, Type>; errors: FieldError[] } => {
  const types: Record<string, Type> = {}
  const errors: FieldError[] = []
  for (const [i, { name = '', expression }] of variables.entries()) {
    if (isBlank(expression)) continue
    const text = expression!.trim()
    const checked = compilePolicyExpression(text, { params, variables: types }, results.anything)
    errors.push(...refusalOf(child(index('spec.variables', i), 'expression'), text, checked))
    if (/^[_a-zA-Z]\w*$/.test(name)) types[name] = checked.type
  }
  return { types, errors }
}
