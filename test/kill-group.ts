/** Ends a child that was started `detached`, and all that it has started. */
import type { ChildProcess } from 'node:child_process'

export const killGroup = ({ pid }: ChildProcess): void => {
  try {
    process.kill(-pid!, 'SIGKILL')
  } catch (error) {
    // What they have said may be read when all of them have ended by themselves.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
