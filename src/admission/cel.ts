/** Evaluates expressions over admission requests (apiserver, pkg/admission/plugin/cel/activation.go, condition.go). */
import type { JsonValue, KubeObject } from '#api/object.js'
import { CostExceeded } from '#cel/evaluation.js'
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
  results,
} from '#cel/policy-environment.js'
import type { Type } from '#cel/types.js'
import { CelError, type CelValue, MapValue } from '#cel/values.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'

/** Whether someone may do something; asked by expressions that name `authorizer`. */
export type Authorize = (question: Question) => Answer | Promise<Answer>

/** The values of the names in expressions. */
export type Activation = (name: string) => CelValue | undefined

/** What expressions may still cost. */
export interface Budget {
  left: number
}

/** The message is upstream's. */
export class EvaluationError extends Error {}

/** An answer that evaluation has to wait for. */
class Awaited extends Error {
  readonly answer: Promise<void>
  constructor(answer: Promise<void>) {
    super('an answer is awaited')
    this.answer = answer
  }
}

/** Each question is asked once; evaluation starts again when an answer has come. */
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

export interface ActivationParts {
  readonly object: KubeObject | null
  readonly request: object
  readonly namespaceObject?: KubeObject | undefined
  readonly params?: KubeObject | null
}

const json = (value: unknown): CelValue => fromJson((value ?? null) as JsonValue)

/** A value is made when an expression first names it. */
export const activationOf = (
  attributes: AdmissionAttributes,
  parts: ActivationParts,
  authorize: Authorize,
): Activation => {
  const { ctx, resource, subresource, namespace, name, oldObject } = attributes
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

const outOfBudget = (): EvaluationError =>
  new EvaluationError(
    'validation failed due to running out of cost budget, no further validation rules will be run',
  )

/** An expression of a policy: its text, and its program or what is wrong with it. */
export interface Expression extends PolicyExpression {
  readonly text: string
}

export const compile = (text: string, names: PolicyNames, wanted: readonly Type[]): Expression => ({
  text,
  ...compilePolicyExpression(text, names, wanted),
})

/** Rejects with an EvaluationError. */
export const evaluate = async (
  { text, program, error }: Expression,
  activation: Activation,
  budget: Budget,
): Promise<CelValue> => {
  if (program === undefined) throw new EvaluationError(`compilation error: ${error}`)
  for (;;) {
    try {
      const { value, cost } = program(activation, limits.celCallCostMax)
      budget.left -= cost
      if (budget.left < 0) throw outOfBudget()
      return value
    } catch (problem) {
      if (problem instanceof Awaited) {
        await problem.answer
        continue
      }
      if (!(problem instanceof CelError || problem instanceof CostExceeded)) throw problem
      throw new EvaluationError(`expression '${text}' resulted in error: ${problem.message}`)
    }
  }
}

interface Variable {
  readonly name: string
  readonly expression: Expression
}

/** `variables`: each is evaluated when it is first named, and no more than once. */
class Variables extends MapValue {
  readonly #variables: ReadonlyMap<string, Expression>
  readonly #values = new Map<string, CelValue | CelError>()
  readonly #activation: Activation
  readonly #budget: Budget

  constructor(variables: readonly Variable[], activation: Activation, budget: Budget) {
    super()
    this.#variables = new Map(variables.map(({ name, expression }) => [name, expression]))
    this.#activation = activation
    this.#budget = budget
  }

  get(key: CelValue): CelValue | undefined {
    const name = String(key)
    const expression = this.#variables.get(name)
    if (expression === undefined) return undefined
    if (!this.#values.has(name)) this.#values.set(name, this.#evaluate(name, expression))
    const value = this.#values.get(name)!
    if (value instanceof CelError) throw value
    return value
  }
  keys(): CelValue[] {
    return [...this.#variables.keys()]
  }
  get size(): number {
    return this.#variables.size
  }

  #evaluate(name: string, { program, error }: Expression): CelValue | CelError {
    const shown = JSON.stringify(name)
    if (program === undefined)
      return new CelError(`composited variable ${shown} fails to compile: ${error}`)
    try {
      const { value, cost } = program(this.#activation, limits.celCallCostMax)
      this.#budget.left -= cost
      return value
    } catch (problem) {
      if (!(problem instanceof CelError || problem instanceof CostExceeded)) throw problem
      return new CelError(`composited variable ${shown} fails to evaluate: ${problem.message}`)
    }
  }
}

/** The activation with `variables`, each of which may name the others. */
export const withVariables = (
  activation: Activation,
  variables: readonly Variable[],
  budget: Budget,
): Activation => {
  const all: Activation = (name) => (name === 'variables' ? values : activation(name))
  const values = new Variables(variables, all, budget)
  return all
}

/** The variables of a policy, each compiled with the types of those before it. */
export const compileVariables = (
  written: readonly { name: string; expression: string }[],
  params: boolean,
): { variables: Variable[]; types: Readonly<Record<string, Type>> } => {
  const types: Record<string, Type> = {}
  const variables = written.map(({ name, expression }) => {
    const compiled = compile(expression, { params, variables: { ...types } }, results.anything)
    types[name] = compiled.type
    return { name, expression: compiled }
  })
  return { variables, types }
}

export interface MatchCondition {
  readonly name: string
  readonly expression: string
}

/** Whether all conditions hold; rejects when one of them ends in an error and none is false. */
export const conditionsHold = async (
  conditions: readonly Expression[],
  activation: Activation,
): Promise<boolean> => {
  const budget = { left: limits.celMatchConditionsCostMax }
  const problems: string[] = []
  for (const condition of conditions) {
    try {
      if ((await evaluate(condition, activation, budget)) === false) return false
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      problems.push(error.message)
    }
  }
  if (problems.length === 0) return true
  throw new EvaluationError(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`)
}

/** What was compiled for an object, until the object is written anew. */
export const compiledOnce = <T>(make: (object: KubeObject) => T): ((object: KubeObject) => T) => {
  const compiled = new Map<string, T>()
  return (object) => {
    const { uid = '', generation = 0, resourceVersion = '' } = object.metadata
    const key = `${uid}/${generation === 0 ? resourceVersion : generation}`
    let found = compiled.get(key)
    if (found === undefined) {
      found = make(object)
      if (compiled.size >= limits.celPoliciesKept) compiled.clear()
      compiled.set(key, found)
    }
    return found
  }
}

export const noAuthorizer: Authorize = () => ({ allowed: false, reason: '' })
