/** Long work in turns: others have theirs in between. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { limits } from '#limits'

/** How long this turn has gone on. */
export class Turn {
  #since = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#since >= limits.turnMsMax
  }

  begin(): void {
    this.#since = performance.now()
  }
}

export const mapInTurns = async <T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> => {
  const mapped: R[] = []
  const turn = new Turn()
  for (const item of items) {
    mapped.push(map(item))
    if (!turn.isOver) continue
    await nextTurn()
    turn.begin()
  }
  return mapped
}
