/** The compiled variables and match conditions of a policy (apiserver, pkg/admission/plugin/cel/composition.go). */

import type { KubeObject } from '#api/object.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import type { Type } from '#cel/types.js'
import { CelError, type CelValue, MapValue } from '#cel/values.js'
import { CostExceeded } from '#cel/work.js'
import { Kept } from '#collections/kept.js'
import { limits } from '#limits'
import {
  type Activation,
  type Budget,
  compile,
  type Expression,
  type MatchCondition,
} from './cel.js'

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
      const { value } = program(this.#activation, limits.celCallCostMax, (cost) => {
        this.#budget.left -= cost
      })
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

/** What both kinds of policies say: conditions, and variables, each with the types of those before it. */
export const compilePolicy = ({ spec }: KubeObject) => {
  const params = Boolean(spec.paramKind)
  const types = new Map<string, Type>()
  const variables = ((spec.variables ?? []) as { name: string; expression: string }[]).map(
    ({ name, expression }): Variable => {
      const compiled = compile(expression, { params, variables: types }, results.anything)
      types.set(name, compiled.type)
      return { name, expression: compiled }
    },
  )
  const names: PolicyNames = { params, variables: types }
  const conditions = ((spec.matchConditions ?? []) as MatchCondition[]).map(({ expression }) =>
    compile(expression, names, results.boolean),
  )
  return { variables, names, conditions }
}

/** Caches the result by stored object, so that it is made anew after a write. */
export const compiledOnce = <T>(make: (object: KubeObject) => T): ((object: KubeObject) => T) => {
  const compiled = new Kept<T>(limits.celPoliciesKept)
  return (object) => {
    const { uid = '', generation = 0, resourceVersion = '' } = object.metadata
    const written = `${uid}/${generation === 0 ? resourceVersion : generation}`
    return compiled.of(written, () => make(object))
  }
}
