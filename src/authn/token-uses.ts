/** How often tokens of ServiceAccounts were used, by kind of token (kubernetes, pkg/serviceaccount/metrics.go). */
import type { MetricFamily } from '#metrics/metric-family.js'

const helps = {
  legacy_tokens: 'legacy service account tokens used',
  stale_tokens: 'stale projected service account tokens used',
  legacy_manual_token_uses: 'manually created legacy tokens used',
  legacy_auto_token_uses: 'auto-generated legacy tokens used',
  invalid_legacy_auto_token_uses: 'invalid auto-generated legacy tokens used',
  valid_tokens: 'valid projected service account tokens used',
} as const

type Use = keyof typeof helps

export class TokenUses {
  readonly #counts = new Map<Use, number>()

  count(use: Use): void {
    this.#counts.set(use, (this.#counts.get(use) ?? 0) + 1)
  }

  get families(): MetricFamily[] {
    return (Object.keys(helps) as Use[]).map((use) => ({
      name: `serviceaccount_${use}_total`,
      help: `[ALPHA] Cumulative ${helps[use]}`,
      type: 'counter',
      values: () => [{ labels: {}, value: this.#counts.get(use) ?? 0 }],
    }))
  }
}
