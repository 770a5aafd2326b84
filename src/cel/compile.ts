/** From the text of an expression to a program, its type and its estimated cost. */
import type { Expression } from './ast.js'
import { check } from './check.js'
import type { Environment } from './environment.js'
import { estimateCost } from './estimate.js'
import type { CostRange, SizeOfPath } from './estimate-ranges.js'
import { type Evaluate, Evaluation } from './evaluation.js'
import { checkLiterals } from './literal-checks.js'
import { parse } from './parse.js'
import { plan } from './plan.js'
import { PlanError } from './planned.js'
import { CompilationError } from './source-errors.js'
import { type Type, types } from './types.js'
import { CelError, type CelValue } from './values.js'
import { CostExceeded, measured } from './work.js'

/** The expression is right, and yet no program can be made of it; the message is upstream's. */
export class InstantiationError extends Error {}

export interface Checked {
  readonly tree: Expression
  readonly type: Type
}

/** @throws CompilationError */
export const checkExpression = (env: Environment, text: string): Checked => {
  const tree = parse(text, env.hasBindings)
  const problems = check(tree, env)
  if (problems.length > 0) throw new CompilationError(text, problems)
  const literals = checkLiterals(tree)
  if (literals.length > 0) throw new CompilationError(text, literals)
  return { tree, type: tree.type ?? types.error }
}

interface Outcome {
  readonly value: CelValue
  /** Upstream's, or what it really took if that is more. */
  readonly cost: number
}

/** Evaluates with variables that may be made when they are asked for. `spend` is told the cost, also that of an error of CEL's. */
export type Program = (
  variables: (name: string) => CelValue | undefined,
  costMax: number,
  spend?: (cost: number) => void,
) => Outcome

/** @throws InstantiationError */
export const programOf = ({ tree }: Checked): Program => {
  let evaluate: Evaluate
  try {
    evaluate = plan(tree)
  } catch (error) {
    if (error instanceof PlanError) throw new InstantiationError(error.message)
    throw error
  }
  return (variables, costMax, spend) => {
    const evaluation = new Evaluation(variables, costMax)
    let outcome: Outcome
    try {
      const { result, parts } = measured(() => evaluate(evaluation))
      outcome = { value: result, cost: Math.max(evaluation.cost, Math.ceil(parts)) }
    } catch (error) {
      if (error instanceof CelError || error instanceof CostExceeded) spend?.(evaluation.cost)
      throw error
    }
    spend?.(outcome.cost)
    return outcome
  }
}

export const costOf = ({ tree }: Checked, sizeOfPath: SizeOfPath): CostRange =>
  estimateCost(tree, sizeOfPath)
