/**
 * Back-off for failed Pods: they are replaced after 1 s, then 2 s, up to 15 min. Otherwise a kubelet that refuses a Pod
 * and this controller would go round in circles. Upstream: failedPodsBackoff.
 */
import type { Pod } from '#client/pod.js'
import { type DaemonSet, targetNodeOf } from './reconcile.js'

const firstMs = 1_000
const maxMs = 900_000

interface Entry {
  waitMs: number
  atMs: number
}

export class FailedPods {
  /** The oldest first. */
  readonly #entries = new Map<string, Entry>()

  /** Milliseconds until this Pod may be replaced; 0 grants it, and makes the next one wait longer. */
  admit(set: DaemonSet, pod: Pod, now: number): number {
    const { uid } = set.metadata
    const key = `${uid}/${set.status?.observedGeneration ?? 0}/${targetNodeOf(pod)}`
    const known = this.#entries.get(key)
    const isFresh = known !== undefined && now - known.atMs <= 2 * maxMs
    if (isFresh && now - known.atMs < known.waitMs) return known.atMs + known.waitMs - now
    this.#entries.delete(key)
    this.#entries.set(key, {
      waitMs: isFresh ? Math.min(maxMs, known.waitMs * 2) : firstMs,
      atMs: now,
    })
    this.#forgetOld(now)
    return 0
  }

  #forgetOld(now: number): void {
    for (const [key, { atMs }] of this.#entries) {
      if (now - atMs <= 2 * maxMs) return
      this.#entries.delete(key)
    }
  }
}
