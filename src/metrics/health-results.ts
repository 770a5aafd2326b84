/**
 * Outcomes of the checks of /healthz, /livez and /readyz, for /metrics/slis. Upstream:
 * component-base/metrics/prometheus/slis.
 */

import type { MetricFamily } from './metric-family.js'

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
  readonly families: readonly MetricFamily[] = [
    {
      name: 'kubernetes_healthcheck',
      help: '[STABLE] This metric records the result of a single healthcheck.',
      type: 'gauge',
      values: () =>
        this.#inOrder().map(({ name, type, outcome }) => ({
          labels: { name, type },
          value: outcome === 'success' ? 1 : 0,
        })),
    },
    {
      name: 'kubernetes_healthchecks_total',
      help: '[STABLE] This metric records the results of all healthcheck.',
      type: 'counter',
      values: () =>
        this.#inOrder().flatMap(({ name, type, totals }) =>
          [...totals].map(([status, value]) => ({ labels: { name, status, type }, value })),
        ),
    },
  ]
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

  /** By name and type. */
  #inOrder(): readonly HealthResult[] {
    const keys = [...this.#results.keys()].sort()
    return keys.map((key) => this.#results.get(key)!)
  }

  reset(): void {
    this.#results.clear()
  }
}
