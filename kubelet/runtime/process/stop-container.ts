/** The stop signal, time to obey it, SIGKILL; the time can only get shorter. */
import { setTimer } from '#async/set-timer.js'
import type { Stop, StopOptions } from '../../runtime.js'
import type { ProcessContainer } from './process-container.js'

/** A kill that the kernel has not carried out after this long (uninterruptible sleep) is sent again. */
const killAgainMs = 1_000

export const stopProcess = (
  container: ProcessContainer,
  { graceMs, signal = 'SIGTERM' }: StopOptions,
): Stop => {
  let deadline = performance.now() + graceMs
  let timer: NodeJS.Timeout | undefined
  const kill = () => {
    if (container.exited) return
    container.kill()
    timer = setTimeout(kill, killAgainMs)
  }
  const arm = () => {
    clearTimeout(timer)
    const left = deadline - performance.now()
    if (left <= 0) kill()
    else timer = setTimer(arm, left)
  }
  const begin = async () => {
    // A start in flight ends first: either there is a process then, or there never will be.
    await container.until(() => !container.starting)
    if (container.exited || container.view.state === 'created') return
    container.signal(signal)
    arm()
    await container.until(() => container.exited)
    clearTimeout(timer)
  }
  return {
    done: begin(),
    shorten: (shorterMs) => {
      const next = performance.now() + shorterMs
      if (next >= deadline) return
      deadline = next
      if (timer !== undefined) arm()
    },
  }
}
