/** What runs while an expression is evaluated: its variables, and what it has cost so far. */
import type { CelValue } from './values.js'
import { CostExceeded } from './work.js'

/** What a loop starts with is evaluated only if somebody asks for it (cel-go, folder.ResolveName). */
export class Unasked {
  readonly run: () => CelValue
  constructor(run: () => CelValue) {
    this.run = run
  }
}

export class Evaluation {
  readonly #variables: (name: string) => CelValue | undefined
  readonly #costMax: number
  #cost = 0
  /** Variables of loops. An Error there is thrown by whoever reads it. */
  readonly slots: (CelValue | Error | Unasked)[] = []

  constructor(variables: (name: string) => CelValue | undefined, costMax: number) {
    this.#variables = variables
    this.#costMax = costMax
  }

  get cost(): number {
    return this.#cost
  }

  spend(cost: number): void {
    this.#cost += cost
    if (this.#cost > this.#costMax) throw new CostExceeded()
  }

  variable(name: string): CelValue | undefined {
    return this.#variables(name)
  }
}

export type Evaluate = (evaluation: Evaluation) => CelValue

/**
 * A function of CEL; the receiver is its first argument. Written as a method, because the parameters of methods may be
 * narrower: the checker sees to it that arguments are of the declared types.
 */
export type Implementation = { call(...args: (CelValue | undefined)[]): CelValue }['call']
export type Implementations = Readonly<Record<string, Implementation>>
