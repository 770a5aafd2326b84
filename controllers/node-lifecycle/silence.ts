/**
 * How long nothing has been heard of each node. It is measured by a clock that nobody can set, so that a machine whose clock
 * is set loses no node (upstream: time.Since of nodeHealthData).
 *
 * Who moves the cluster's clock on means that a node that says nothing was silent for that long. But a move takes no time
 * in which a living kubelet could say anything. So moved time counts when the node has let pass, after the move, the time
 * in which a kubelet renews its Lease: a quarter of the Lease's duration, and some seconds for a slow machine. A node
 * without a Lease has not said when it will be heard of again: for it no moved time counts.
 *
 * Pure but for its state; `now` is of performance.now.
 */

/** A kubelet's (kubernetes, pkg/kubelet: nodeLeaseRenewIntervalFraction). */
const renewPart = 0.25
const lateMs = 5_000

/** What changes with each sign of life, of each sort. One that is missing says nothing. */
type Signs = readonly (string | undefined)[]

interface Heard {
  signs: Signs
  atMs: number
  /** When the clock was first moved since, and by how much in all. */
  movedAtMs: number
  movedMs: number
}

export class Silence {
  readonly #heard = new Map<string, Heard>()

  /** What was heard of the node last; only what is new is a sign of life. */
  hear(name: string, signs: Signs, now: number): void {
    const known = this.#heard.get(name)
    const isNew = signs.some((sign, i) => sign !== undefined && sign !== known?.signs[i])
    if (known === undefined || isNew)
      this.#heard.set(
        name,
        heardAt(
          signs.map((sign, i) => sign ?? known?.signs[i]),
          now,
        ),
      )
  }

  /** Milliseconds since the last sign of a node that has been heard of. */
  lengthMs(name: string, leaseSeconds: number | undefined, now: number): number {
    const { atMs, movedAtMs, movedMs } = this.#heard.get(name)!
    const renewedByMs =
      leaseSeconds === undefined
        ? Number.POSITIVE_INFINITY
        : movedAtMs + leaseSeconds * 1000 * renewPart + lateMs
    return now - atMs + (now > renewedByMs ? movedMs : 0)
  }

  /** The cluster's clock was moved. Back is the clock of a server that was started again: no time for anybody. */
  clockMoved(byMs: number, now: number): void {
    if (byMs <= 0) return
    for (const heard of this.#heard.values()) {
      if (heard.movedMs === 0) heard.movedAtMs = now
      heard.movedMs += byMs
    }
  }

  /** The silence up to now meant nothing. */
  forgive(now: number): void {
    for (const [name, { signs }] of this.#heard) this.#heard.set(name, heardAt(signs, now))
  }

  forget(name: string): void {
    this.#heard.delete(name)
  }
}

const heardAt = (signs: Signs, now: number): Heard => ({
  signs,
  atMs: now,
  movedAtMs: now,
  movedMs: 0,
})
