/**
 * A token that was found good stays good for some seconds, whatever becomes of what it rests on; any other is checked
 * each time (apiserver, pkg/authentication/token/cache). Requests with the same token at the same time share one check.
 */
import type { Clock } from '#api/clock.js'
import { ExpiringCache } from '#collections/expiring-cache.js'
import { limits } from '#limits'
import { type MetricFamily, MetricHistogram, MetricNumber } from '#metrics/metric-family.js'
import type { TokenNotes, UnionVerifier, Verified } from './authenticator.js'

/** The outcome of a check, with what is told to each client that shows the token. */
interface Finding {
  readonly verified: Verified | readonly string[]
  readonly warnings: readonly string[]
  readonly annotations: ReadonlyMap<string, string>
}

const durationBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export class TokenCache {
  readonly #verify: UnionVerifier
  readonly #clock: Clock
  readonly #good = new ExpiringCache<Finding>(limits.verifiedTokensKept)
  readonly #asked = new Map<string, Promise<Finding>>()
  readonly #requests = new MetricNumber(
    'counter',
    'authentication_token_cache_request_total',
    '[ALPHA] ',
    { hasLabels: true },
  )
  readonly #durations = new MetricHistogram(
    'authentication_token_cache_request_duration_seconds',
    '[ALPHA] ',
    { bounds: durationBounds, hasLabels: true },
  )
  readonly #fetches = new MetricNumber(
    'counter',
    'authentication_token_cache_fetch_total',
    '[ALPHA] ',
    { hasLabels: true },
  )
  readonly #active = new MetricNumber(
    'gauge',
    'authentication_token_cache_active_fetch_count',
    '[ALPHA] ',
    { hasLabels: true },
  )
  readonly families: readonly MetricFamily[] = [
    this.#active,
    this.#fetches,
    this.#durations,
    this.#requests,
  ]

  constructor(verify: UnionVerifier, clock: Clock) {
    this.#verify = verify
    this.#clock = clock
  }

  readonly verify: UnionVerifier = async (token, audiences, notes) => {
    const began = performance.now()
    const key = JSON.stringify([token, ...audiences])
    const known = this.#good.get(key, this.#clock.now())
    const finding = known ?? (await this.#share(key, token, audiences))
    const status = known === undefined ? 'miss' : 'hit'
    this.#requests.add({ status })
    this.#durations.observe({ status }, (performance.now() - began) / 1000)
    if ('user' in finding.verified) {
      for (const text of finding.warnings) notes.warn(text)
      for (const [name, value] of finding.annotations) notes.annotate(name, value)
    }
    return finding.verified
  }

  async #share(key: string, token: string, audiences: readonly string[]): Promise<Finding> {
    this.#active.add({ status: 'blocked' })
    try {
      let asked = this.#asked.get(key)
      if (asked === undefined) {
        asked = this.#fetch(key, token, audiences)
        this.#asked.set(key, asked)
      }
      return await asked
    } finally {
      this.#active.add({ status: 'blocked' }, -1)
    }
  }

  async #fetch(key: string, token: string, audiences: readonly string[]): Promise<Finding> {
    this.#active.add({ status: 'in_flight' })
    const warnings: string[] = []
    const annotations = new Map<string, string>()
    const notes: TokenNotes = {
      warn: (text) => warnings.push(text),
      annotate: (name, value) => annotations.set(name, value),
    }
    let status = 'error'
    try {
      const finding = {
        verified: await this.#verify(token, audiences, notes),
        warnings,
        annotations,
      }
      if ('user' in finding.verified)
        this.#good.set(key, finding, this.#clock.now() + limits.goodTokenKeptMs)
      if ('user' in finding.verified || finding.verified.length === 0) status = 'ok'
      return finding
    } finally {
      this.#asked.delete(key)
      this.#active.add({ status: 'in_flight' }, -1)
      this.#fetches.add({ status })
    }
  }
}
