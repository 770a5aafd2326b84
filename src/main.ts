#!/usr/bin/env node
/** The command line: the only reader of process.argv, and of process.env but for the cache's detector of mutations. */
import { closeSync, existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runCommandLine } from '#commands/command-line.js'
import { CompiledBundle } from '#commands/compiled-bundle.js'
import type { Machine, ServerModule } from '#commands/machine.js'

const stop = new AbortController()

/** Exit code of a process that a signal ended: 128 and its number. */
const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const

const sigpipe = 13

for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(128 + signalNumbers[name])
    stop.abort()
  })
const isTerminal = process.stderr.isTTY === true
// A terminal that is closed takes with it what runs in it; twice, as the shell and the system tell of it. Who is to
// outlive it (nohup) writes elsewhere, and a handler would undo that the signal is ignored there.
if (isTerminal) {
  process.on('SIGHUP', () => {
    if (stop.signal.aborted) return
    stop.abort()
    // Node puts its terminal right at the end, and crashes where that is gone; what is closed it leaves alone.
    process.once('exit', () => {
      for (const fd of [0, 1, 2]) closeSync(fd)
    })
  })
  process.stderr.on('error', () => {})
}
// Whoever reads us has seen enough (`| head`): what ends other programs by SIGPIPE is an error event here.
process.stdout.on('error', () => process.exit(128 + sigpipe))
// A child of `up` has a channel to it. When that breaks, `up` is gone and nobody will ever stop the child.
process.once('disconnect', () => process.exit(1))
// A rejection that nobody awaited is a mistake of ours, but no reason to end every watch there is.
process.on('unhandledRejection', (reason) => {
  process.stderr.write(
    `kubelevel: unhandled rejection: ${reason instanceof Error ? reason.stack : reason}\n`,
  )
})

/** Beside the bundle of this file lies one of the server (scripts/bundle.mjs), beside dist/src/main.js its modules. */
const serverModule = (): ServerModule => {
  const file = fileURLToPath(new URL('create-server.cjs', import.meta.url))
  if (!existsSync(file))
    return { load: () => import('#server/create-server.js'), started: () => {} }
  let bundle: CompiledBundle | undefined
  return {
    load: async () => {
      bundle = new CompiledBundle(file)
      return bundle.run() as typeof import('#server/create-server.js')
    },
    started: () => {
      bundle?.keep()
      bundle = undefined
    },
  }
}

const machine: Machine = {
  server: serverModule(),
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  isTerminal,
  env: process.env,
  nodePath: process.execPath,
  mainFile: process.argv[1]!,
  stopSignal: stop.signal,
  uptimeMs: () => process.uptime() * 1000,
  now: () => Date.now(),
}

const main = async (): Promise<void> => {
  try {
    process.exitCode = await runCommandLine(process.argv.slice(2), machine)
  } catch (error) {
    process.stderr.write(`kubelevel: ${error instanceof Error ? error.stack : error}\n`)
    process.exitCode = 1
  }
  // What a command left open must not keep a finished process alive.
  process.exit()
}

// In the bundle this is CommonJS, which cannot await here.
void main()
