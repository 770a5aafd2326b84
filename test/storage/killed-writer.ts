/** A process that writes until it is killed, and what it had said by then. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { killGroup } from '../kill-group.js'

/** The whole lines of `script`'s output; SIGKILL comes after so many of them. Rejects when it ended by itself. */
export const writeUntilKilled = (
  script: string,
  args: readonly string[],
  linesMin: number,
): Promise<string[]> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let errors = ''
    let lines = 0
    child.stdout.on('data', (chunk) => {
      out += chunk
      lines += String(chunk).split('\n').length - 1
      if (lines >= linesMin) child.kill('SIGKILL')
    })
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    child.on('close', (_, signal) => {
      if (signal === 'SIGKILL') resolve(out.split('\n').slice(0, -1))
      else reject(new Error(`the writer ended by itself: ${errors}`))
    })
  })

/** One of the system calls that change files, and which one of a thread's own. */
export interface DeadlyCall {
  readonly name: string
  readonly when: number
}

/** No thread may come to the call: what has said so much is killed all the same. */
const linesMax = 1_500

/** The same of a process that dies when it enters a system call; `hit` is false where it never came to it. */
export const writeUntilCall = async (
  script: string,
  args: readonly string[],
  { name, when }: DeadlyCall,
): Promise<{ lines: string[]; hit: boolean }> => {
  const inject = ['-e', `trace=${name}`, '-e', `inject=${name}:signal=SIGKILL:when=${when}`]
  const writing = [process.execPath, script, ...args]
  const strace = ['-f', '-qq', '-o', '/dev/null', ...inject, ...writing]
  // A group of its own: strace would leave the writer behind.
  const child = spawn('strace', strace, { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  let out = ''
  let lines = 0
  let hit = true
  child.stdout.on('data', (chunk) => {
    out += chunk
    lines += String(chunk).split('\n').length - 1
    if (lines < linesMax || !hit) return
    hit = false
    killGroup(child)
  })
  await once(child, 'close')
  return { lines: out.split('\n').slice(0, -1), hit }
}
