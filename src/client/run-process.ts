/** What all client processes share: flags, log, client. */
import os from 'node:os'
import { pino } from 'pino'
import type { Clock } from '#api/clock.js'
import { withOwnSignal } from '#async/own-signal.js'
import {
  asksForHelp,
  type Flag,
  type Flags,
  helpFlag,
  helpText,
  parseFlags,
  UsageError,
  usageMistake,
  verbosityFlag,
} from '#program/flags.js'
import { packageVersion } from '#program/package-version.js'
import { type Client, createClient } from './client.js'
import { followClock } from './follow-clock.js'
import type { ClientConfig } from './kubeconfig.js'
import { kubeconfigFlag, readKubeconfigOf } from './kubeconfig-flag.js'
import type { Log } from './log.js'
import { whyNoAnswer } from './why-no-answer.js'

/** Dependencies of every process, from the command line or from an embedder. */
export interface ProcessDeps {
  client: Client
  clock: Clock
  log: Log
  /** Ends the process in an orderly way. */
  signal: AbortSignal
  hostname: string
}

export interface ProcessSpec {
  /** As in `kubelevel NAME`. */
  name: string
  /** The user agent, and so the manager of the fields it writes: upstream's name of such a process. */
  agent?: string
  /** Flags besides those of every process. */
  flags: readonly Flag[]
  /** Flags of upstream's that mean nothing here. */
  ignored?: readonly Flag[]
  /** What its configuration file says of flags that were not given. */
  configuredFlags?(flags: Flags): Promise<Readonly<Record<string, string>>>
  /** Name of the one argument that is not a flag. */
  argument?: string
  /** A UsageError is reported as such. */
  run(deps: ProcessDeps, flags: Flags): Promise<void>
}

const levelOf = (verbosity: number): string => {
  if (verbosity >= 4) return 'debug'
  return verbosity >= 1 ? 'info' : 'warn'
}

interface Started {
  readonly args: readonly string[]
  /** $KUBECONFIG. */
  readonly kubeconfig: string | undefined
  readonly signal: AbortSignal
}

/**
 * The exit code: 0 when `signal` ended it, 1 for a failure, 2 for bad flags. `help` is the line that --help begins with.
 */
export const runProcess = async (
  spec: ProcessSpec & { help: string },
  { args, kubeconfig, signal }: Started,
): Promise<number> => {
  const flagTable = [kubeconfigFlag, ...spec.flags, verbosityFlag, helpFlag]
  if (asksForHelp(args)) {
    process.stdout.write(helpText({ ...spec, flags: flagTable }))
    return 0
  }
  try {
    const given = parseFlags(args, flagTable, spec)
    const flags = given.withDefaults((await spec.configuredFlags?.(given)) ?? {})
    for (const flag of flags.ignored)
      process.stderr.write(`kubelevel ${spec.name}: ${flag} has no meaning here and is ignored\n`)
    const config = await readKubeconfigOf(flags, kubeconfig)
    return await runWith(spec, { flags, config, signal })
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(usageMistake(`kubelevel ${spec.name}`, error.message))
    return 2
  }
}

interface Given {
  readonly flags: Flags
  readonly config: ClientConfig
  readonly signal: AbortSignal
}

const runWith = async (spec: ProcessSpec, { flags, config, signal }: Given): Promise<number> => {
  const level = levelOf(flags.number('v')!)
  const log = pino({ name: spec.name, level }, pino.destination(2))
  const client = createClient(
    config,
    `${spec.agent ?? `kubelevel-${spec.name}`}/${packageVersion()}`,
  )
  try {
    await withOwnSignal(signal, async (following) => {
      const clock = followClock({ client, log, signal: following.signal })
      try {
        await spec.run({ client, clock, log, signal, hostname: os.hostname() }, flags)
      } finally {
        following.abort()
      }
    })
    return 0
  } catch (error) {
    if (error instanceof UsageError) throw error
    process.stderr.write(`kubelevel ${spec.name}: ${whyNoAnswer(error)}\n`)
    return 1
  } finally {
    client.close()
  }
}
