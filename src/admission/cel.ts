/** CEL over admission requests: object, oldObject, request, params, namespaceObject, variables (apiserver, plugin/cel). */
import { type Evaluate, parseExpression } from '#cel/compile.js'
import { evaluationEnvironment } from '#cel/policy-environment.js'

export type CelContext = Readonly<Record<string, unknown>>

const programs = new Map<string, Evaluate>()
/** Policies come and go; a program that is gone too long is compiled again. */
const programsMax = 1_000

/** Whole numbers are ints in CEL, and those are BigInt here. */
export const toCel = (value: unknown): unknown => {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(toCel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, toCel(v)]))
}

/** Rejects with an Error in the words of CEL when the expression does not compile or ends in an error. */
export const evaluate = async (expression: string, context: CelContext): Promise<unknown> => {
  let program = programs.get(expression)
  if (program === undefined) {
    program = parseExpression(evaluationEnvironment(), expression)
    if (programs.size >= programsMax) programs.clear()
    programs.set(expression, program)
  }
  try {
    return await program(context)
  } catch (error) {
    const [first = ''] = (error as Error).message.split('\n')
    throw new Error(first.charAt(0).toLowerCase() + first.slice(1))
  }
}

export interface MatchCondition {
  readonly name: string
  readonly expression: string
}

/** Whether all conditions hold; rejects when one of them ends in an error and none is false. */
export const conditionsHold = async (
  conditions: readonly MatchCondition[],
  context: CelContext,
): Promise<boolean> => {
  let failure: Error | undefined
  for (const { expression } of conditions) {
    try {
      if ((await evaluate(expression, context)) === false) return false
    } catch (error) {
      failure ??= error as Error
    }
  }
  if (failure !== undefined) throw failure
  return true
}
