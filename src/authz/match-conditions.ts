/** Match conditions of authorization webhooks (apiserver, pkg/authorization/cel/matcher.go). */

import { authorizationEnvironment } from '#cel/authorization-environment.js'
import type { Program } from '#cel/compile.js'
import { compileText, evaluationProblem } from '#cel/compile-text.js'
import { fromJson } from '#cel/json-values.js'
import { typeText } from '#cel/types.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import type { ReviewSpec } from './review-spec.js'

export interface MatchCondition {
  readonly text: string
  readonly program: Program
}

/** A string says what is wrong with it. */
export const compileCondition = (text: string): MatchCondition | string => {
  const compiled = compileText(authorizationEnvironment(), text, (type) =>
    type.kind === 'bool' ? undefined : `must evaluate to bool but got ${typeText(type)}`,
  )
  return 'error' in compiled ? compiled.error : { text, program: compiled.program }
}

/** Missing strings are empty, so that expressions can use them. */
const shown = (spec: ReviewSpec): JsonObject => {
  const { resourceAttributes, nonResourceAttributes, user, groups = [], extra = {} } = spec
  const none = { namespace: '', group: '', version: '', resource: '', subresource: '', name: '' }
  return {
    user: user ?? '',
    uid: spec.uid ?? '',
    groups: [...groups],
    extra: extra as JsonObject,
    ...(resourceAttributes && {
      resourceAttributes: { ...none, verb: '', ...(resourceAttributes as JsonObject) },
    }),
    ...(nonResourceAttributes && {
      nonResourceAttributes: { path: '', verb: '', ...nonResourceAttributes },
    }),
  }
}

/** False if one of them is false; otherwise true, or the errors of those that failed. */
export const conditionsHold = (
  conditions: readonly MatchCondition[],
  spec: ReviewSpec,
): boolean | readonly string[] => {
  const request = fromJson(shown(spec))
  const errors: string[] = []
  for (const { text, program } of conditions) {
    try {
      if (program(() => request, limits.celCallCostMax).value === false) return false
    } catch (error) {
      errors.push(`cel evaluation error: ${evaluationProblem(text, error)}`)
    }
  }
  return errors.length === 0 || errors
}
