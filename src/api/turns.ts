/** Long work in turns: others have theirs in between. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { limits } from '#limits'

/** How long this turn has gone on. */
export class Turn {
  #since = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#since >= limits.turnMsMax
  }

  /** Resolves in the next one. */
  async next(): Promise<void> {
    await nextTurn()
    this.#since = performance.now()
  }
}

export const eachInTurns = async <T>(
  items: readonly T[],
  visit: (item: T) => void,
): Promise<void> => {
  const turn = new Turn()
  for (const item of items) {
    visit(item)
    if (turn.isOver) await turn.next()
  }
}

export const mapInTurns = async <T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> => {
  const mapped: R[] = []
  await eachInTurns(items, (item) => mapped.push(map(item)))
  return mapped
}
