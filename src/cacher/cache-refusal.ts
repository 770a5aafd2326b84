import { type ApiError, tooManyRequests } from '#api/errors.js'
import { limits } from '#limits'

/** How upstream refuses lists and watches while its cache cannot hold all objects (cacher/ready.go). */
export class CacheRefusal {
  readonly #typeName: string
  /** When it refused first (of performance.now). */
  #since: number | undefined

  /** @param typeName `*core.Secret` */
  constructor(typeName: string) {
    this.#typeName = typeName
  }

  because(problem: string): ApiError {
    this.#since ??= performance.now()
    const seconds = (performance.now() - this.#since) / 1000
    const retryAfterSeconds = Math.min(
      limits.cacheRetrySecondsMax,
      Math.floor(Math.exp(0.06 * seconds)),
    )
    const message = `storage is (re)initializing: failed to list ${this.#typeName}: ${problem}`
    return tooManyRequests(message, retryAfterSeconds)
  }

  isOver(): void {
    this.#since = undefined
  }
}
