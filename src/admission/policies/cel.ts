/** Evaluates expressions over admission requests (apiserver, pkg/admission/plugin/cel/activation.go, condition.go). */

import type { KubeObject } from '#api/object.js'
import { evaluationProblem } from '#cel/compile-text.js'
import {
  type Answer,
  type Ask,
  Authorizer,
  type Question,
  ResourceCheck,
} from '#cel/functions/authorizer.js'
import { fromJson } from '#cel/json-values.js'
import {
  compilePolicyExpression,
  type PolicyExpression,
  type PolicyNames,
} from '#cel/policy-environment.js'
import type { Type } from '#cel/types.js'
import type { CelValue } from '#cel/values.js'
import { aggregate } from '#go/aggregate.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import type { VersionedRequest } from '../versioned-request.js'

/** Authorization checks, for expressions with `authorizer`. */
export type Authorize = (question: Question) => Answer | Promise<Answer>

/** The values of the names in expressions. */
export type Activation = (name: string) => CelValue | undefined

/** What expressions may still cost. */
export interface Budget {
  left: number
}

/** The message is upstream's. */
export class EvaluationError extends Error {}

/** Thrown to wait for an authorization check. */
class Awaited extends Error {
  readonly answer: Promise<void>
  constructor(answer: Promise<void>) {
    super('an answer is awaited')
    this.answer = answer
  }
}

/** Each check is made once. Evaluation starts again when its answer has come. */
const asking = (authorize: Authorize): Ask => {
  const answers = new Map<string, Answer>()
  return (question) => {
    const key = JSON.stringify(question)
    const known = answers.get(key)
    if (known !== undefined) return known
    const answer = authorize(question)
    if (!(answer instanceof Promise)) {
      answers.set(key, answer)
      return answer
    }
    throw new Awaited(
      answer.then((settled) => {
        answers.set(key, settled)
      }),
    )
  }
}

interface ActivationParts {
  readonly object: KubeObject | null
  readonly request: object
  readonly namespaceObject?: KubeObject | undefined
  readonly params?: KubeObject | null
}

const json = (value: unknown): CelValue => fromJson((value ?? null) as JsonValue)

/** A value is made when an expression first names it. */
export const activationOf = (
  attributes: VersionedRequest,
  parts: ActivationParts,
  authorize: Authorize,
): Activation => {
  const { ctx, subresource, namespace, name, oldObject, original } = attributes
  const { resource } = original
  const authorizer = new Authorizer(asking(authorize), { ...ctx.user, username: ctx.user.name })
  const makers: Readonly<Record<string, () => CelValue>> = {
    object: () => json(parts.object),
    oldObject: () => json(oldObject),
    request: () => json(parts.request),
    namespaceObject: () => json(parts.namespaceObject),
    params: () => json(parts.params),
    authorizer: () => authorizer,
    'authorizer.requestResource': () =>
      new ResourceCheck(authorizer, {
        group: resource.group,
        resource: resource.resource,
        subresource,
        namespace,
        name,
      }),
  }
  const made = new Map<string, CelValue>()
  return (wanted) => {
    if (!made.has(wanted) && Object.hasOwn(makers, wanted)) made.set(wanted, makers[wanted]!())
    return made.get(wanted)
  }
}

/** Ends the evaluation of all expressions that share the budget. */
export class OutOfBudget extends EvaluationError {
  constructor() {
    super(
      'validation failed due to running out of cost budget, no further validation rules will be run',
    )
  }
}

/** An expression of a policy: its text, and its program or what is wrong with it. */
export interface Expression extends PolicyExpression {
  readonly text: string
}

export const compile = (text: string, names: PolicyNames, wanted: readonly Type[]): Expression => ({
  text,
  ...compilePolicyExpression(text, names, wanted),
})

/** Rejects with an EvaluationError, an OutOfBudget where the budget is spent. */
export const evaluate = async (
  { text, program, error }: Expression,
  activation: Activation,
  budget: Budget,
): Promise<CelValue> => {
  if (program === undefined) throw new EvaluationError(`compilation error: ${error}`)
  for (;;) {
    try {
      const { value } = program(activation, limits.celCallCostMax, (cost) => {
        budget.left -= cost
      })
      if (budget.left < 0) throw new OutOfBudget()
      return value
    } catch (problem) {
      if (problem instanceof Awaited) {
        await problem.answer
        continue
      }
      // An error spends it, too, as may variables.
      if (budget.left < 0) throw new OutOfBudget()
      throw new EvaluationError(evaluationProblem(text, problem))
    }
  }
}

export interface MatchCondition {
  readonly name: string
  readonly expression: string
}

/** Conditions of policies and webhooks may name the namespace, but upstream gives them none (matchconditions/matcher.go). */
const withoutNamespace =
  (activation: Activation): Activation =>
  (wanted) =>
    wanted === 'namespaceObject' ? null : activation(wanted)

/** Whether all conditions hold; rejects when one of them ends in an error and none is false. */
export const conditionsHold = async (
  conditions: readonly Expression[],
  activation: Activation,
): Promise<boolean> => {
  const budget = { left: limits.celMatchConditionsCostMax }
  const seen = withoutNamespace(activation)
  const problems: string[] = []
  for (const condition of conditions) {
    try {
      if ((await evaluate(condition, seen, budget)) === false) return false
    } catch (error) {
      if (!(error instanceof EvaluationError) || error instanceof OutOfBudget) throw error
      problems.push(error.message)
    }
  }
  const problem = aggregate(problems)
  if (problem === undefined) return true
  throw new EvaluationError(problem)
}

export const noAuthorizer: Authorize = () => ({ allowed: false, reason: '' })
