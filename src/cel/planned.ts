/** What planning is made of: parts that run, and how their values and errors are taken. */
import type { Evaluate } from './evaluation.js'
import { goTypeNameOf } from './go-type-names.js'
import { CelError, type CelValue, MapValue, noSuchOverload } from './values.js'

/** The program cannot be made: a conversion of a constant fails, or a pattern does not parse. */
export class PlanError extends Error {}

export interface Planned {
  readonly run: Evaluate
  /** Set for what is known before it runs. */
  readonly constant?: { readonly value: CelValue }
  /** A variable or what is selected from one: its first step costs one. */
  readonly isAttribute?: boolean
  readonly isConditional?: boolean
}

export interface Scope {
  readonly slots: ReadonlyMap<string, number>
  readonly outer: Scope | undefined
}

export const constant = (value: CelValue): Planned => ({ run: () => value, constant: { value } })

export const conversions = new Set(
  'bool bytes double duration dyn int string timestamp type uint'.split(' '),
)

export const settle = (run: () => CelValue): CelValue | CelError => {
  try {
    return run()
  } catch (error) {
    if (error instanceof CelError) return error
    throw error
  }
}

export const booleanOrError = (value: CelValue | CelError): boolean | CelError =>
  typeof value === 'boolean' || value instanceof CelError ? value : noSuchOverload()

/** What the variables of a loop are, one after the other. */
export function* pairsOf(
  range: CelValue,
  isPair: boolean,
): Generator<readonly [CelValue, CelValue]> {
  if (Array.isArray(range)) {
    for (const [i, item] of range.entries()) yield [isPair ? BigInt(i) : item, item]
    return
  }
  if (range instanceof MapValue) {
    for (const key of range.keys()) yield [key, isPair ? range.valueAt(key) : key]
    return
  }
  const shown = goTypeNameOf(range)
  throw new CelError(
    isPair
      ? `unsupported comprehension range type: ${shown}`
      : `got '${shown}', expected iterable type`,
  )
}
