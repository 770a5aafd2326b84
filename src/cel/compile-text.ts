/** From a text to a program, or to why there is none, in the words that upstream's compilers of single expressions share. */
import {
  type Checked,
  checkExpression,
  InstantiationError,
  type Program,
  programOf,
} from './compile.js'
import type { Environment } from './environment.js'
import { CompilationError } from './source-errors.js'
import type { Type } from './types.js'
import { CelError } from './values.js'
import { CostExceeded } from './work.js'

export interface CompiledText extends Checked {
  readonly program: Program
}

export interface NotCompiled {
  readonly error: string
  /** The expression is right, and yet no program can be made of it. */
  readonly isInternal?: boolean
}

/** `errorOfType` says why a type is not one that is wanted. */
export const compileText = (
  env: Environment,
  text: string,
  errorOfType: (type: Type) => string | undefined,
): CompiledText | NotCompiled => {
  try {
    const checked = checkExpression(env, text)
    const error = errorOfType(checked.type)
    return error === undefined ? { ...checked, program: programOf(checked) } : { error }
  } catch (error) {
    if (error instanceof CompilationError) return { error: error.message }
    if (!(error instanceof InstantiationError)) throw error
    return { error: `program instantiation failed: ${error.message}`, isInternal: true }
  }
}

/** What is told of an evaluation that ended in an error; throws what is no error of the expression's. */
export const evaluationProblem = (text: string, error: unknown): string => {
  if (!(error instanceof CelError || error instanceof CostExceeded)) throw error
  return `expression '${text}' resulted in error: ${error.message}`
}
