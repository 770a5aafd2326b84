/** One rule, compiled for its place in a schema; messages of errors are those of upstream's CEL compiler. */
import type { Environment } from '@marcbachmann/cel-js'
import type { StructuralSchema, ValidationRule } from '../structural-schema.js'
import { ruleEnvironment, withLinearPatterns } from './cel-functions.js'
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

interface CelProblem {
  code?: string
  summary?: string
  range?: { start: number; end: number }
  node?: { op?: string; args?: unknown }
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

const expecting =
  "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

const pointedAt = (text: string, at: number, why: string): string =>
  `compilation failed: ERROR: <input>:1:${at + 1}: ${why}\n | ${text}\n | ${'.'.repeat(at)}^`

/** Where the operator of a binary expression stands. */
const operatorAt = (text: string, problem: CelProblem): number => {
  const operator = problem.node?.op ?? ''
  const [left] = (problem.node?.args ?? []) as { range?: { end: number } }[]
  const from = left?.range?.end ?? problem.range?.start ?? 0
  return Math.max(text.indexOf(operator, from), from)
}

const describe = (text: string, problem: CelProblem): string => {
  const start = problem.range?.start ?? 0
  const summary = problem.summary ?? ''
  const missing = /^No such key: (.*)$/.exec(summary)
  if (missing !== null)
    return pointedAt(text, Math.max(start - 1, 0), `undefined field '${missing[1]}'`)
  const overload = /^no such overload: (.+) (\S+) (.+)$/.exec(summary)
  if (overload !== null)
    return pointedAt(
      text,
      operatorAt(text, problem),
      `found no matching overload for '_${overload[2]}_' applied to '(${overload[1]}, ${overload[3]})'`,
    )
  if (/EOF/.test(summary))
    return pointedAt(text, text.length, `Syntax error: mismatched input '<EOF>' ${expecting}`)
  const unknown = /^Unknown variable: (.*)$/.exec(summary)
  if (unknown !== null)
    return pointedAt(text, start, `undeclared reference to '${unknown[1]}' (in container '')`)
  return pointedAt(text, start, summary)
}

const compile = (
  env: Environment,
  text: string,
  part: 'rule' | 'messageExpression',
  wanted: { type: string; why: string },
): ((context: { self: unknown; oldSelf?: unknown }) => unknown) => {
  let parsed: ReturnType<Environment['parse']>
  try {
    parsed = env.parse(withLinearPatterns(text))
  } catch (err) {
    throw new RuleError(part, describe(text, err as CelProblem))
  }
  const checked = parsed.check()
  if (!checked.valid) throw new RuleError(part, describe(text, checked.error as CelProblem))
  if (checked.type !== wanted.type && checked.type !== 'dyn') throw new RuleError(part, wanted.why)
  return parsed
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
