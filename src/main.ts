#!/usr/bin/env node
/**
 * The command line. Nothing else reads process.argv, and nothing but the cache's mutation detector reads process.env.
 */
import { closeSync, existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runCommandLine } from '#commands/command-line.js'
import { CompiledBundle } from '#commands/compiled-bundle.js'
import type { Machine, ServerModule } from '#commands/machine.js'

const stop = new AbortController()

/** A process that a signal ended has 128 and the signal's number as its exit code. */
const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const

const sigpipe = 13

/** How often a program of npx looks whether it still has its parent. */
const npxCheckMs = 500

/** A terminal tells all processes of a Ctrl-C, and npm hands it on to the one that it has started. */
const sameSignalMs = 1_000

let stoppedAt = Number.NEGATIVE_INFINITY
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.on(name, () => {
    if (!stop.signal.aborted) {
      stoppedAt = performance.now()
      stop.abort()
    } else if (performance.now() - stoppedAt >= sameSignalMs)
      process.exit(128 + signalNumbers[name])
  })
const isTerminal = process.stderr.isTTY === true
// Closing a terminal ends what runs in it. SIGHUP then comes twice, from the shell and from the system. Only with a
// terminal: under nohup, whose output goes elsewhere, the signal is ignored, which a handler would undo.
if (isTerminal) {
  process.on('SIGHUP', () => {
    if (stop.signal.aborted) return
    stop.abort()
    // Node restores its terminal at the very end, and crashes if that is gone; it leaves closed descriptors alone.
    process.once('exit', () => {
      for (const fd of [0, 1, 2]) closeSync(fd)
    })
  })
  process.stderr.on('error', () => {})
}
// The reader of our output has seen enough (`| head`). Node turns the SIGPIPE that ends other programs into this error.
process.stdout.on('error', () => process.exit(128 + sigpipe))
// A child of `up` has a channel to it. When that breaks, `up` is gone and nobody else will ever stop the child.
process.once('disconnect', () => process.exit(1))
// Between npx and its program is a shell, which hands on no signal: who kills npx ends the shell, and would leave this
// process behind, with all that it has started.
if (process.env.npm_lifecycle_event === 'npx') {
  const shell = process.ppid
  setInterval(() => {
    if (process.ppid !== shell) stop.abort()
  }, npxCheckMs).unref()
}
// An unhandled rejection is a mistake of ours, but no reason to end every watch.
process.on('unhandledRejection', (reason) => {
  process.stderr.write(
    `kubelevel: unhandled rejection: ${reason instanceof Error ? reason.stack : reason}\n`,
  )
})

/**
 * The bundle of the server lies beside the bundle of this file (scripts/bundle.mjs); dist/src/main.js has modules
 * instead.
 */
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

/** As package.json's `engines`, which npm only warns of. */
const isNodeTooOld = (version: string): boolean => {
  const [major, minor] = version.slice(1).split('.').map(Number)
  return major! < 20 || (major === 20 && minor! < 19)
}

const main = async (): Promise<void> => {
  if (isNodeTooOld(process.version)) {
    process.stderr.write(
      `kubelevel: Node ${process.version} is too old: 20.19 or newer is needed\n`,
    )
    process.exit(1)
  }
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
