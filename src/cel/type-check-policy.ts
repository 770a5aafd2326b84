/**
 * Expressions of a policy, checked against the types of what it matches: for the policy's status, not for admission
 * (apiserver, pkg/admission/plugin/policy/validating/typechecking.go).
 */
import { checkExpression } from './compile.js'
import { Environment } from './environment.js'
import {
  authorizerVariable,
  requestVariables,
  structs,
  typeOfVariable,
  withPolicyVariables,
} from './policy-environment.js'
import { type DeclaredType, structsOf } from './schema-types.js'
import { CompilationError } from './source-errors.js'
import { type Type, types } from './types.js'

interface PolicyTypes {
  /** Of `object` and `oldObject`. */
  readonly object: DeclaredType
  /** Missing: the policy has no parameters; undefined type: nobody knows what they are. */
  readonly params?: { readonly declared: DeclaredType | undefined }
}

export interface NamedExpression {
  readonly name: string
  readonly expression: string
}

const check = (env: Environment, text: string): { type: Type; issues?: string } => {
  try {
    return { type: checkExpression(env, text).type }
  } catch (error) {
    if (!(error instanceof CompilationError)) throw error
    return { type: types.dyn, issues: error.issues }
  }
}

/** What is wrong with an expression, or undefined. Variables that are wrong may be anything. */
export const typeChecker = (
  { object, params }: PolicyTypes,
  variables: readonly NamedExpression[],
): ((text: string) => string | undefined) => {
  const declared = params?.declared
  const root = Environment.base
    .withTypes({ ...structs, ...structsOf(object), ...(declared && structsOf(declared)) })
    .withVariables({
      object: object.type,
      oldObject: object.type,
      ...(params && { params: declared?.type ?? types.dyn }),
      ...requestVariables,
      // Upstream declares `authorizer.requestResource` for admission alone.
      ...authorizerVariable,
    })
  const known = new Map<string, Type>()
  const env = withPolicyVariables(root, known)
  for (const { name, expression } of variables)
    known.set(name, typeOfVariable(check(env, expression).type))
  return (text) => check(env, text).issues
}
