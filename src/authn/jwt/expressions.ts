/** Expressions over `claims` and over `user` (apiserver, pkg/authentication/cel). */

import { once } from '#async/once.js'
import { type Expression, hasPart } from '#cel/ast.js'
import { compileText, evaluationProblem } from '#cel/compile-text.js'
import { Environment } from '#cel/environment.js'
import { structs } from '#cel/policy-environment.js'
import { mapOf, structType, types } from '#cel/types.js'
import type { CelValue } from '#cel/values.js'
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

/**
 * A string says what is wrong with it. A condition must be boolean; the types of other expressions are checked when they
 * are evaluated.
 */
export const compile = (
  text: string,
  subject: Subject,
  isCondition: boolean,
): Compiled | string => {
  const compiled = compileText(environments[subject](), text, (type) =>
    isCondition && type.kind !== 'bool' ? 'must evaluate to bool' : undefined,
  )
  if ('error' in compiled) return compiled.error
  const { tree, program } = compiled
  return {
    text,
    reads: (claim) => hasPart(tree, (part) => isClaim(part, claim)),
    evaluate: (value) => {
      try {
        return program((name) => (name === subject ? value : undefined), limits.celCallCostMax)
          .value
      } catch (error) {
        throw new Error(evaluationProblem(text, error))
      }
    },
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
