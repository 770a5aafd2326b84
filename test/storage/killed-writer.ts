/** A process that writes until it is killed, and what it had said by then. */
import { spawn } from 'node:child_process'

/** The whole lines of `script`'s output; SIGKILL comes `afterMs` after the first of them. Rejects when it ended by itself. */
export const writeUntilKilled = (
  script: string,
  args: readonly string[],
  afterMs: number,
): Promise<string[]> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let errors = ''
    child.stdout.on('data', (chunk) => {
      if (out === '') setTimeout(() => child.kill('SIGKILL'), afterMs)
      out += chunk
    })
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    child.on('close', (_, signal) => {
      if (signal === 'SIGKILL') resolve(out.split('\n').slice(0, -1))
      else reject(new Error(`the writer ended by itself: ${errors}`))
    })
  })
