/** `kubelevel …` in the process of the test. */
import { systemClock } from '#api/clock.js'
import { runCommandLine } from '#commands/command-line.js'

interface Ran {
  code: number
  out: string
}

export const runCommandIn = async (
  env: Record<string, string>,
  ...args: string[]
): Promise<Ran> => {
  let out = ''
  const machine = {
    server: { load: () => import('#server/create-server.js'), started: () => {} },
    stdout: (text: string) => void (out += text),
    stderr: (text: string) => void (out += text),
    isTerminal: false,
    env,
    nodePath: process.execPath,
    mainFile: '',
    stopSignal: new AbortController().signal,
    uptimeMs: () => 0,
    now: () => systemClock.now(),
  }
  return { code: await runCommandLine(args, machine), out }
}

export const runCommand = (...args: string[]): Promise<Ran> => runCommandIn({}, ...args)
