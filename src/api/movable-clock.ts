/**
 * The clock of a cluster, which tests move on: ahead of the clock under it by a distance that somebody sets. A server has
 * one, and each process beside it has one that follows the server's.
 */
import type { Clock } from './clock.js'

/** GET tells what time it is, POST moves the clock. */
export const clockPath = '/kubelevel/clock'
/** A stream of lines, the first at once: `{"aheadMs":3600000}`. */
export const clockMovesPath = `${clockPath}/moves`

export class MovableClock implements Clock {
  readonly #base: Clock
  readonly #listeners = new Set<(byMs: number) => void>()
  #aheadMs = 0

  constructor(base: Clock) {
    this.#base = base
  }

  /** Milliseconds by which it is ahead. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  now(): number {
    return this.#base.now() + this.#aheadMs
  }

  onMove(moved: (byMs: number) => void): () => void {
    // One entry for each call: the same function may listen twice.
    const listener = (byMs: number): void => moved(byMs)
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Back is possible, too: a server that was started again is not ahead any more. */
  setAhead(aheadMs: number): void {
    const byMs = aheadMs - this.#aheadMs
    if (byMs === 0) return
    this.#aheadMs = aheadMs
    for (const listener of [...this.#listeners]) listener(byMs)
  }

  /** Another clock that is always as far ahead as this one. */
  beside(base: Clock): Clock {
    return {
      now: () => base.now() + this.#aheadMs,
      onMove: (moved) => this.onMove(moved),
    }
  }
}
