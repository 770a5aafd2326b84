/** Which requests an authorization webhook is asked about (apiserver, pkg/authorization/cel/matcher.go). */
import type { JsonObject } from '#api/object.js'
import { authorizationEnvironment } from '#cel/authorization-environment.js'
import {
  type Checked,
  checkExpression,
  InstantiationError,
  type Program,
  programOf,
} from '#cel/compile.js'
import { CostExceeded } from '#cel/evaluation.js'
import { fromJson } from '#cel/json-values.js'
import { CompilationError } from '#cel/source-errors.js'
import { typeText } from '#cel/types.js'
import { CelError } from '#cel/values.js'
import { limits } from '#limits'
import type { ReviewSpec } from './review-spec.js'

export interface MatchCondition {
  readonly text: string
  readonly program: Program
}

/** A text says why it is none. */
export const compileCondition = (text: string): MatchCondition | string => {
  let checked: Checked
  try {
    checked = checkExpression(authorizationEnvironment(), text)
  } catch (error) {
    if (error instanceof CompilationError) return error.message
    throw error
  }
  if (checked.type.kind !== 'bool') return `must evaluate to bool but got ${typeText(checked.type)}`
  try {
    return { text, program: programOf(checked) }
  } catch (error) {
    if (error instanceof InstantiationError) return `program instantiation failed: ${error.message}`
    throw error
  }
}

/** Every text is there, empty or not, so that an expression may name it. */
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

/** False where one of them is false; otherwise the errors of those that have no result, if any. */
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
      if (!(error instanceof CelError || error instanceof CostExceeded)) throw error
      errors.push(`cel evaluation error: expression '${text}' resulted in error: ${error.message}`)
    }
  }
  return errors.length === 0 || errors
}
