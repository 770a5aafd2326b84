/** Whether the expressions of policies and match conditions compile to what is wanted of them. */
import { child, type FieldError, index, invalid } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { checkPolicyExpression, type PolicyNames } from '#cel/policy-environment.js'

const isBlank = (text: string | undefined): boolean => (text ?? '').trim() === ''

/** Nothing for an expression that is missing: that is reported as such. */
export const expressionErrors = (
  path: string,
  text: string | undefined,
  names: PolicyNames,
  wanted: readonly string[],
): FieldError[] => {
  if (isBlank(text)) return []
  const { error } = checkPolicyExpression(text!, names, wanted)
  return error === undefined ? [] : [invalid(path, text, error)]
}

export const namesOfPolicy = ({ spec }: KubeObject): PolicyNames => ({
  params: Boolean(spec.paramKind),
  variables: variableTypes(spec.variables ?? [], Boolean(spec.paramKind)).types,
})

interface Variable {
  name?: string
  expression?: string
}

/** Each variable may name those before it. */
export const variableTypes = (
  variables: readonly Variable[],
  params: boolean,
): { types: Record<string, string>; errors: FieldError[] } => {
  const types: Record<string, string> = {}
  const errors: FieldError[] = []
  for (const [i, { name = '', expression }] of variables.entries()) {
    if (isBlank(expression)) continue
    const checked = checkPolicyExpression(expression!, { params, variables: types }, [])
    if (checked.error !== undefined)
      errors.push(
        invalid(child(index('spec.variables', i), 'expression'), expression, checked.error),
      )
    if (/^[_a-zA-Z]\w*$/.test(name)) types[name] = checked.type
  }
  return { types, errors }
}
