/** Compiles one CEL expression in an environment. */
import type { Environment } from '@marcbachmann/cel-js'
import { type CelProblem, describeProblem } from './compile-error.js'
import { withLinearPatterns } from './functions.js'
import { namespaces, notEvaluated, overTwoVariables } from './upstream-functions.js'

export type Evaluate = (context: Readonly<Record<string, unknown>>) => unknown

export interface Compiled {
  readonly evaluate: Evaluate
  /** The type of the result; `dyn` when it is known only at run time. */
  readonly type: string
  /** True when the result is a field or an element of something: its type is then all that can be known. */
  readonly isSelection: boolean
}

/** An expression that does not compile; the message is upstream's text. */
export class CompilationError extends Error {
  /** True when the expression calls what upstream has and this server does not evaluate. */
  readonly isUnknownHere: boolean
  constructor(text: string, problem: CelProblem, isDeclared: (name: string) => boolean) {
    super(`compilation failed: ${describeProblem(text, problem, isDeclared)}`)
    const called = /^found no matching overload for '.*?(\w+)\(.*\)'$/.exec(problem.summary ?? '')
    const named = /^Unknown variable: (.*)$/.exec(problem.summary ?? '')
    this.isUnknownHere =
      (called !== null && notEvaluated.has(called[1]!)) ||
      (named !== null && (namespaces.has(named[1]!) || overTwoVariables.test(text)))
  }
}

const declaredNames = new WeakMap<Environment, Set<string>>()
const namesOf = (env: Environment): Set<string> => {
  let names = declaredNames.get(env)
  if (names === undefined) {
    names = new Set(env.getDefinitions().functions.map((f) => f.name))
    declaredNames.set(env, names)
  }
  return names
}

/** @throws CompilationError */
export const compileExpression = (env: Environment, text: string): Compiled => {
  const isDeclared = (name: string): boolean => name === 'matches' || namesOf(env).has(name)
  let parsed: ReturnType<Environment['parse']>
  try {
    parsed = env.parse(withLinearPatterns(text))
  } catch (error) {
    throw new CompilationError(text, error as CelProblem, isDeclared)
  }
  const checked = parsed.check()
  if (!checked.valid) throw new CompilationError(text, checked.error as CelProblem, isDeclared)
  return {
    evaluate: parsed as Evaluate,
    type: checked.type ?? 'dyn',
    isSelection: ['.', '[]', 'id'].includes(parsed.ast.op),
  }
}

/** Without the check of types, for what has none: what is wrong shows when it runs. */
export const parseExpression = (env: Environment, text: string): Evaluate =>
  env.parse(withLinearPatterns(text)) as Evaluate
