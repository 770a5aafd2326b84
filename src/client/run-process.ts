/** The frame of each process that lives off the watch: flags, log, signals, client. */

import { readFileSync } from 'node:fs'
import os from 'node:os'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { pino } from 'pino'
import { type Clock, systemClock } from '#api/clock.js'
import { packageRoot } from '#api/package-root.js'
import { type Client, createClient } from './client.js'
import { messageOf } from './errors.js'
import { type ClientConfig, loadKubeconfig } from './kubeconfig.js'
import type { Log } from './log.js'

/** What every process is given, by the command line or by who embeds it. */
export interface ProcessDeps {
  client: Client
  clock: Clock
  log: Log
  /** Ends the process in an orderly way. */
  signal: AbortSignal
  hostname: string
}

type FlagSpec = NonNullable<ParseArgsConfig['options']>
export type Flags = Record<string, string | boolean | (string | boolean)[] | undefined>

export interface ProcessSpec {
  /** As in `kubelevel NAME`. */
  name: string
  /** The user agent, and so the manager of the fields it writes: upstream's name of such a process. */
  agent?: string
  flags?: FlagSpec
  /** What the one argument without a flag is called; handed over as the flag `argument`. */
  argument?: string
  /** The lines of --help for the own flags. */
  help?: string
  run(deps: ProcessDeps, flags: Flags): Promise<void>
}

const commonFlags = {
  kubeconfig: { type: 'string' },
  v: { type: 'string', short: 'v' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies FlagSpec

const commonHelp = `  --kubeconfig FILE   where the API server is and who we are (default .kubelevel/kubeconfig)
  -v N                log level: 0 warnings, 1 information, 4 debugging
`
const levelOf = (v: string | undefined): string => {
  const n = Number(v ?? 0)
  return n >= 4 ? 'debug' : n >= 1 ? 'info' : 'warn'
}

const readFlags = (spec: ProcessSpec, argv: readonly string[]): Flags => {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { ...commonFlags, ...spec.flags },
    strict: true,
    allowPositionals: spec.argument !== undefined,
  })
  const flags = values as Flags
  if (spec.argument === undefined || flags.help) return flags
  if (positionals.length !== 1) throw new Error(`exactly one ${spec.argument} is needed`)
  return { ...flags, argument: positionals[0]! }
}

const firstSignal = (): AbortController => {
  const controller = new AbortController()
  const stop = (): void => controller.abort()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  return controller
}

/** The exit code: 0 after a signal, 1 for a failure, 2 for bad flags. */
export const runProcess = async (spec: ProcessSpec, argv: readonly string[]): Promise<number> => {
  let flags: Flags
  let config: ClientConfig
  try {
    flags = readFlags(spec, argv)
    if (flags.help) {
      process.stdout.write(
        `kubelevel ${spec.name} ${spec.argument ? `${spec.argument} ` : ''}[flags]\n${commonHelp}${spec.help ?? ''}`,
      )
      return 0
    }
    config = await loadKubeconfig(String(flags.kubeconfig ?? '.kubelevel/kubeconfig'))
  } catch (error) {
    process.stderr.write(`kubelevel ${spec.name}: ${messageOf(error)}\n`)
    return 2
  }
  const log = pino({ name: spec.name, level: levelOf(flags.v as string) }, pino.destination(2))
  const stop = firstSignal()
  const client = createClient(
    config,
    `${spec.agent ?? `kubelevel-${spec.name}`}/${versionOfPackage()}`,
  )
  try {
    await spec.run(
      { client, clock: systemClock, log, signal: stop.signal, hostname: os.hostname() },
      flags,
    )
    return 0
  } catch (error) {
    log.error({ error: messageOf(error) }, 'ended')
    return 1
  } finally {
    client.close()
  }
}

const versionOfPackage = (): string =>
  JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')).version
