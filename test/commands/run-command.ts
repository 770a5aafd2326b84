/** `kubelevel …` in the process of the test. */
import { systemClock } from '#api/clock.js'
import { runCommandLine } from '#commands/command-line.js'

export const runCommand = async (...args: string[]): Promise<{ code: number; out: string }> => {
  let out = ''
  const machine = {
    server: { load: () => import('#server/create-server.js'), started: () => {} },
    stdout: (text: string) => void (out += text),
    stderr: (text: string) => void (out += text),
    isTerminal: false,
    env: {},
    nodePath: process.execPath,
    mainFile: '',
    stopSignal: new AbortController().signal,
    uptimeMs: () => 0,
    now: () => systemClock.now(),
  }
  return { code: await runCommandLine(args, machine), out }
}
