/** Long work cut into turns of the event loop, so that other requests are served in between. */
import { setImmediate } from 'node:timers/promises'
import { limits } from '#limits'
import { readingPhase } from './reading-phase.js'

/** Resolves when this turn of the event loop is over. */
export const nextTurn = (): Promise<void> => setImmediate()

/** Long tasks that wait for a turn of the event loop of their own. */
const line: (() => void)[] = []
/** Whether a long task has run in this turn. */
let isTaken = false

const take = async (): Promise<void> => {
  isTaken = true
  while (isTaken) {
    await nextTurn()
    await readingPhase()
    const next = line.shift()
    if (next === undefined) isTaken = false
    else next()
  }
}

/** Resolves in a turn in which no other long task runs: a hundred long answers in one turn would hold up everybody. */
const ownTurn = (): Promise<void> => {
  if (!isTaken) void take()
  return new Promise((resolve) => void line.push(resolve))
}

/**
 * To be awaited before a long task: undefined if no other has run in this turn. After the wait an answer may be written.
 */
export const behindOthers = (): Promise<void> | undefined => {
  if (isTaken) return ownTurn()
  void take()
  return undefined
}

/** Measures how long a task has run in this turn. */
export class Turn {
  #since = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#since >= limits.turnMsMax
  }

  /** Resolves when others have had their turn, in a phase in which an answer may be written. */
  async next(): Promise<void> {
    await ownTurn()
    this.#since = performance.now()
  }
}

/** Undefined when all were done in this turn. The clock is looked at after every `atOnce` visits. */
export const eachInTurns = <T>(
  items: readonly T[],
  visit: (item: T) => void,
  atOnce = 1,
): Promise<void> | undefined => {
  const turn = new Turn()
  let next = 0
  const visitSome = (): boolean => {
    while (next < items.length) {
      visit(items[next++]!)
      if (next % atOnce === 0 && turn.isOver) break
    }
    return next === items.length
  }
  if (visitSome()) return undefined
  return (async () => {
    do await turn.next()
    while (!visitSome())
  })()
}

/** A promise only where one turn is not enough. */
export const mapInTurns = <T, R>(
  items: readonly T[],
  map: (item: T) => R,
  atOnce = 1,
): R[] | Promise<R[]> => {
  const mapped: R[] = []
  const going = eachInTurns(items, (item) => mapped.push(map(item)), atOnce)
  return going === undefined ? mapped : going.then(() => mapped)
}
