/** Which turns of the event loop something was done in. */
import type { Test } from 'tap'
import { limits } from '#limits'

/** Numbers the turns of the event loop, and those in which `spend` took as long as a turn may be. */
export const turnsOf = (t: Test) => {
  let turn = 0
  const count = (): void => {
    turn++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  t.teardown(() => clearImmediate(counting))
  const spent: number[] = []
  const spend = (): void => {
    const end = performance.now() + limits.turnMsMax
    while (performance.now() < end);
    spent.push(turn)
  }
  return { spend, spent }
}
