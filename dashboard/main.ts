/** `kubelevel dashboard`: a page that shows how Pods die, as it happens, each as bars over time. */

import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { portProblem } from '#program/flags.js'
import { listen } from './listen.js'
import { Recorder } from './recorder.js'

interface DashboardOptions extends Pick<ProcessDeps, 'client' | 'clock' | 'log' | 'signal'> {
  readonly port: number
  readonly print: (line: string) => void
}

/** Resolves after the signal fired and everything has ended. */
export const runDashboard = async (options: DashboardOptions): Promise<void> => {
  const { clock, port, print, signal } = options
  const recorder = new Recorder(options)
  const server = await listen({ recorder, clock, port })
  try {
    print(`the dashboard is at ${server.url}`)
    await recorder.run(signal)
  } finally {
    await server.close()
  }
}

export const dashboardProcess: ProcessSpec = {
  name: 'dashboard',
  flags: [
    {
      name: 'port',
      type: 'integer',
      default: '8001',
      check: portProblem,
      help: 'port of 127.0.0.1 to serve the page on; 0 takes a free one',
    },
  ],
  run: (deps, flags) =>
    runDashboard({
      ...deps,
      port: flags.number('port')!,
      print: (line) => process.stdout.write(`${line}\n`),
    }),
}
