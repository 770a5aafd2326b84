/** Expressions over `claims` and over `user` (apiserver, pkg/authentication/cel). */

import { once } from '#api/once.js'
import { type Expression, visitAll } from '#cel/ast.js'
import { type Checked, checkExpression, InstantiationError, programOf } from '#cel/compile.js'
import { Environment } from '#cel/environment.js'
import { CostExceeded } from '#cel/evaluation.js'
import { structs } from '#cel/policy-environment.js'
import { CompilationError } from '#cel/source-errors.js'
import { mapOf, structType, types } from '#cel/types.js'
import { CelError, type CelValue } from '#cel/values.js'
import { limits } from '#limits'

type Subject = 'claims' | 'user'

const userInfo = 'kubernetes.UserInfo'

const environments = {
  claims: once(() => Environment.base.withVariables({ claims: mapOf(types.string, types.any) })),
  user: once(() =>
    Environment.base
      .withTypes({ [userInfo]: structs[userInfo]! })
      .withVariables({ user: structType(userInfo) }),
  ),
}

export interface Compiled {
  readonly text: string
  /** Throws an Error in upstream's words. */
  evaluate(subject: CelValue): CelValue
  /** Whether it reads that claim by name. */
  reads(claim: string): boolean
}

/** A text says why it is none. A condition is true or false; anything else is looked at when it is evaluated. */
export const compile = (
  text: string,
  subject: Subject,
  isCondition: boolean,
): Compiled | string => {
  let checked: Checked
  try {
    checked = checkExpression(environments[subject](), text)
  } catch (error) {
    if (error instanceof CompilationError) return error.message
    throw error
  }
  if (isCondition && checked.type.kind !== 'bool') return 'must evaluate to bool'
  try {
    const program = programOf(checked)
    return {
      text,
      reads: (claim) => reads(checked.tree, claim),
      evaluate: (value) => {
        try {
          return program((name) => (name === subject ? value : undefined), limits.celCallCostMax)
            .value
        } catch (error) {
          if (!(error instanceof CelError || error instanceof CostExceeded)) throw error
          throw new Error(`expression '${text}' resulted in error: ${error.message}`)
        }
      },
    }
  } catch (error) {
    if (!(error instanceof InstantiationError)) throw error
    return `program instantiation failed: ${error.message}`
  }
}

const isClaims = (node: Expression): boolean => node.kind === 'identifier' && node.name === 'claims'

/** `claims.x` and `claims.?x`. */
const isClaim = (node: Expression, claim: string): boolean => {
  if (node.kind === 'select') return isClaims(node.operand) && node.field === claim
  if (node.kind !== 'call' || node.name !== '_?._' || node.target !== undefined) return false
  const [operand, field] = node.args
  return isClaims(operand!) && field?.kind === 'constant' && field.value === claim
}

const reads = (tree: Expression, claim: string): boolean => {
  let found = false
  visitAll(tree, (node) => {
    found ||= isClaim(node, claim)
  })
  return found
}
