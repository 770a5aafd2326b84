/**
 * A process beside the server goes by the server's clock, which tests may move on (kubelevel's own `/kubelevel/clock`). With
 * any other API server it goes by the machine's.
 */
import { type Clock, systemClock } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import { clockMovesPath, MovableClock } from '#api/movable-clock.js'
import { sleep } from '#async/sleep.js'
import { limits } from '#limits'
import type { Client } from './client.js'
import { messageOf } from './errors.js'
import type { Log } from './log.js'

interface FollowClockOptions {
  readonly client: Client
  readonly log: Log
  /** Ends the following; nothing is open afterwards. */
  readonly signal: AbortSignal
}

/** Another server's answers: it has no such path, or shows it to nobody. */
const hasNoClock = (error: unknown): boolean =>
  error instanceof ApiError && [403, 404, 405].includes(error.code)

/** It is the machine's time until the server has told how far it is ahead. */
export const followClock = ({ client, log, signal }: FollowClockOptions): Clock => {
  const clock = new MovableClock(systemClock)
  // Every process comes by here, so that this tells, once, that nobody answers, or not to this kubeconfig. The first failure
  // may be that of a server that is just started, or of a command that ends with it.
  let failures = 0
  const tell = (error: unknown): void => {
    failures++
    const level = failures === 2 ? 'warn' : 'debug'
    log[level]({ error: messageOf(error) }, 'the server cannot be asked, will retry')
  }
  const follow = async (): Promise<void> => {
    const moves = client.lines<{ aheadMs: number }>({
      method: 'GET',
      path: clockMovesPath,
      signal,
    })
    for await (const { aheadMs } of moves) {
      clock.setAhead(aheadMs)
      failures = 0
    }
  }
  const followAgain = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await follow()
      } catch (error) {
        if (signal.aborted || hasNoClock(error)) return
        tell(error)
      }
      await sleep(limits.clockRetryMs, signal)
    }
  }
  void followAgain()
  return clock
}
