/** One rule, compiled for its place in a schema; messages of errors are those of upstream's CEL compiler. */
import { type Expression, hasPart } from '#cel/ast.js'
import {
  type Checked,
  checkExpression,
  costOf,
  InstantiationError,
  type Program,
  programOf,
} from '#cel/compile.js'
import { Environment } from '#cel/environment.js'
import { type DeclaredType, declareType, sizeAt, structsOf } from '#cel/schema-types.js'
import { CompilationError } from '#cel/source-errors.js'
import { optionalOf, types } from '#cel/types.js'
import { limits } from '#limits'
import type { StructuralSchema, ValidationRule } from '../structural-schema.js'

export interface CompiledRule {
  readonly rule: ValidationRule
  /** True when the rule speaks of oldSelf: it holds for updates only. */
  readonly isTransition: boolean
  readonly evaluate: Program
  /** The most it may cost once. */
  readonly costMax: bigint
  readonly message: Program | undefined
  readonly messageCostMax: bigint
  /** A messageExpression that is wrong; the rule itself is right. */
  readonly messageError: string | undefined
}

/** A rule that does not compile; the message is upstream's. */
export class RuleError extends Error {}

/** What all rules at one place of a schema share. */
export interface RulePlace {
  readonly declared: DeclaredType
  readonly base: Environment
  /** How often such a value can stand in one request. */
  readonly cardinalityMax: bigint
}

export const placeOf = (schema: StructuralSchema, isRoot: boolean): RulePlace | undefined => {
  const isResource = isRoot || schema['x-kubernetes-embedded-resource'] === true
  const declared = declareType(schema, 'selfType', isResource)
  if (declared === undefined) return undefined
  const cardinalityMax = BigInt(Math.floor(limits.requestBodyBytesMax / (declared.bytesMin + 1)))
  return { declared, base: Environment.base.withTypes(structsOf(declared)), cardinalityMax }
}

const environmentFor = ({ declared, base }: RulePlace, isOptional: boolean): Environment =>
  base.withVariables({
    self: declared.type,
    oldSelf: isOptional ? optionalOf(declared.type) : declared.type,
  })

interface Part {
  readonly program: Program
  readonly costMax: bigint
  readonly tree: Expression
}

const compilePart = (
  place: RulePlace,
  env: Environment,
  text: string,
  wanted: { kind: 'bool' | 'string'; why: string; prefix: string; cannot: string },
): Part => {
  let checked: Checked
  try {
    checked = checkExpression(env, text)
  } catch (error) {
    if (error instanceof CompilationError) throw new RuleError(`${wanted.prefix}${error.message}`)
    throw error
  }
  if (checked.type.kind !== types[wanted.kind].kind) throw new RuleError(wanted.why)
  try {
    const program = programOf(checked)
    const cost = costOf(checked, (path) => sizeAt(place.declared, path))
    return { program, costMax: cost.max, tree: checked.tree }
  } catch (error) {
    if (error instanceof InstantiationError)
      throw new RuleError(`${wanted.cannot} instantiation failed: ${error.message}`)
    throw error
  }
}

const namesOldSelf = (tree: Expression): boolean =>
  hasPart(tree, (e) => e.kind === 'identifier' && e.name === 'oldSelf')

const compileMessage = (
  place: RulePlace,
  env: Environment,
  text: string | undefined,
): Part | string | undefined => {
  if (!text) return undefined
  try {
    return compilePart(place, env, text, {
      kind: 'string',
      why: 'messageExpression must evaluate to a string',
      prefix: 'messageExpression ',
      cannot: 'messageExpression',
    })
  } catch (error) {
    if (error instanceof RuleError) return error.message
    throw error
  }
}

/** @throws RuleError */
export const compileRule = (rule: ValidationRule, place: RulePlace): CompiledRule => {
  const env = environmentFor(place, rule.optionalOldSelf === true)
  const part = compilePart(place, env, rule.rule, {
    kind: 'bool',
    why: 'cel expression must evaluate to a bool',
    prefix: '',
    cannot: 'program',
  })
  const message = compileMessage(place, env, rule.messageExpression)
  const isWrong = typeof message === 'string'
  return {
    rule,
    isTransition: namesOldSelf(part.tree),
    evaluate: part.program,
    costMax: part.costMax,
    message: isWrong ? undefined : message?.program,
    messageCostMax: isWrong ? 0n : (message?.costMax ?? 0n),
    messageError: isWrong ? message : undefined,
  }
}
