/** One rule, compiled for its place in a schema; messages of errors are those of upstream's CEL compiler. */
import type { Environment } from '@marcbachmann/cel-js'
import { CompilationError, type Compiled, compileExpression } from '#cel/compile.js'
import { ruleEnvironment } from '#cel/functions.js'
import type { StructuralSchema, ValidationRule } from '../structural-schema.js'
import { declareType } from './cel-types.js'

export interface CompiledRule {
  readonly rule: ValidationRule
  /** True when the rule speaks of oldSelf: it holds for updates only. */
  readonly isTransition: boolean
  readonly evaluate: (context: { self: unknown; oldSelf?: unknown }) => unknown
  readonly message: ((context: { self: unknown; oldSelf?: unknown }) => unknown) | undefined
}

/** A rule that does not compile; `part` is the field of the rule that is wrong. */
export class RuleError extends Error {
  readonly part: 'rule' | 'messageExpression'
  constructor(part: 'rule' | 'messageExpression', message: string) {
    super(message)
    this.part = part
  }
}

const environmentFor = (
  schema: StructuralSchema,
  isRoot: boolean,
  optional: boolean,
): Environment => {
  const env = ruleEnvironment()
  const type = declareType(env, schema, 'selfType', isRoot)
  env.registerVariable('self', type)
  env.registerVariable('oldSelf', optional ? 'optional' : type)
  return env
}

const compile = (
  env: Environment,
  text: string,
  part: 'rule' | 'messageExpression',
  wanted: { type: string; why: string },
): ((context: { self: unknown; oldSelf?: unknown }) => unknown) => {
  let compiled: Compiled
  try {
    compiled = compileExpression(env, text)
  } catch (error) {
    const prefix = part === 'rule' ? '' : 'messageExpression '
    if (error instanceof CompilationError) throw new RuleError(part, `${prefix}${error.message}`)
    throw error
  }
  if (compiled.type !== wanted.type && compiled.type !== 'dyn')
    throw new RuleError(part, wanted.why)
  return compiled.evaluate
}

export const compileRule = (
  rule: ValidationRule,
  schema: StructuralSchema,
  isRoot: boolean,
): CompiledRule => {
  const env = environmentFor(schema, isRoot, rule.optionalOldSelf === true)
  const text = rule.rule.trim()
  const evaluate = compile(env, text, 'rule', {
    type: 'bool',
    why: 'cel expression must evaluate to a bool',
  })
  const message = rule.messageExpression
    ? compile(env, rule.messageExpression.trim(), 'messageExpression', {
        type: 'string',
        why: 'messageExpression must evaluate to a string',
      })
    : undefined
  return { rule, isTransition: /\boldSelf\b/.test(text), evaluate, message }
}
