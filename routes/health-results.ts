/**
 * Outcomes of the checks of /healthz, /livez and /readyz, for /metrics/slis. Upstream:
 * component-base/metrics/prometheus/slis.
 */

type Outcome = 'success' | 'error'

interface HealthResult {
  readonly name: string
  /** One of the three endpoints. */
  readonly type: string
  /** The last outcome. */
  outcome: Outcome
  readonly totals: Map<Outcome, number>
}

export class HealthResults {
  readonly #results = new Map<string, HealthResult>()

  observe(name: string, type: string, outcome: Outcome): void {
    const key = `${name} ${type}`
    let result = this.#results.get(key)
    if (result === undefined) {
      result = { name, type, outcome, totals: new Map() }
      this.#results.set(key, result)
    }
    result.outcome = outcome
    result.totals.set(outcome, (result.totals.get(outcome) ?? 0) + 1)
  }

  /** In order of name and type. */
  get results(): readonly HealthResult[] {
    const keys = [...this.#results.keys()].sort()
    return keys.map((key) => this.#results.get(key)!)
  }

  reset(): void {
    this.#results.clear()
  }
}
