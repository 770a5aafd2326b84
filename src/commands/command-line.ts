/**
 * Finds the command, reads its flags, runs it. Usage mistakes are one line on stderr and exit code 2; what the system
 * refuses is one line and exit code 1.
 */
import path from 'node:path'
import { buildInfo } from '#api/build-info.js'
import { getOwn } from '#json/object.js'
import {
  asksForHelp,
  asksForVersion,
  type Flag,
  type Flags,
  helpFlag,
  helpText,
  isUsageError,
  parseFlags,
  usageMistake,
} from '#program/flags.js'
import { packageVersion } from '#program/package-version.js'
import {
  backupCommand,
  backupFlags,
  restoreCommand,
  restoreFlags,
  verifyCommand,
  verifyFlags,
} from './backup.js'
import { clientProcesses, runClientProcess } from './client-process.js'
import { clockCommand } from './clock.js'
import { configFlag, configPathOf, readConfigFile } from './config-file.js'
import { printStandIns } from './envtest.js'
import { kubeconfigFlags, printKubeconfig } from './kubeconfig.js'
import { kubelet, kubeletFlags } from './kubelet.js'
import type { ExitCode, Machine } from './machine.js'
import { runningServerFlags } from './running-server.js'
import { serve } from './serve.js'
import { kubeconfigPathOf, serveFlags } from './serve-flags.js'
import { resetCommand, snapshotCommand } from './snapshot.js'
import { up } from './up.js'
import { ignoredFlags } from './upstream-flags.js'

interface Command {
  readonly help: string
  readonly flags: readonly Flag[]
  /** Flags that are accepted with a warning. */
  readonly ignored?: readonly Flag[]
  /** Name of the one argument that is not a flag. */
  readonly argument?: string
  run(machine: Machine, flags: Flags): ExitCode | Promise<ExitCode>
}

const absoluteKubeconfig = (flags: Flags): string => path.resolve(kubeconfigPathOf(flags))

const commands: Readonly<Record<string, Command>> = {
  up: {
    help: 'API server, kubelet, scheduler, controllers and metrics server: a whole cluster on this machine',
    flags: serveFlags,
    ignored: ignoredFlags,
    run: (machine, flags) => up(machine, flags, absoluteKubeconfig(flags)),
  },
  serve: {
    help: 'the API server alone',
    flags: serveFlags,
    ignored: ignoredFlags,
    run: (machine, flags) => serve(machine, flags, absoluteKubeconfig(flags)),
  },
  kubelet: {
    help: 'runs Pods, as processes of this machine or in a container runtime',
    flags: kubeletFlags,
    run: kubelet,
  },
  kubeconfig: {
    help: 'prints the admin kubeconfig of a data dir',
    flags: kubeconfigFlags,
    run: printKubeconfig,
  },
  envtest: {
    help: 'prints the value for KUBEBUILDER_ASSETS with which tests that use envtest start kubelevel',
    flags: [helpFlag],
    run: printStandIns,
  },
  backup: {
    help: 'writes the whole store to a file',
    flags: backupFlags,
    argument: 'FILE',
    run: backupCommand,
  },
  restore: {
    help: 'makes a new store from a backup',
    flags: restoreFlags,
    argument: 'FILE',
    run: restoreCommand,
  },
  snapshot: {
    help: 'keeps the state of a running server in its memory, under a name (`default` if none is given)',
    flags: runningServerFlags,
    argument: '[NAME]',
    run: snapshotCommand,
  },
  reset: {
    help: 'restores a snapshot of a running server',
    flags: runningServerFlags,
    argument: '[NAME]',
    run: resetCommand,
  },
  clock: {
    help: 'prints the time of a running server; with a DURATION such as 1h30m, moves its clock on first',
    flags: runningServerFlags,
    argument: '[DURATION]',
    run: clockCommand,
  },
  verify: {
    help: 'reads a backup to its end and says whether it is intact',
    flags: verifyFlags,
    argument: 'FILE',
    run: verifyCommand,
  },
}

const overview = (): string => {
  const entries = [
    ...Object.entries(commands).map(([name, { help }]) => ({ name, help })),
    ...clientProcesses,
  ]
  const width = Math.max(...entries.map(({ name }) => name.length))
  const lines = entries.map(({ name, help }) => `  ${name.padEnd(width)}   ${help}\n`)
  return `kubelevel ${packageVersion()}: a Kubernetes API server on Node\n\nUsage: kubelevel <command> [flags]\n\n${lines.join('')}\nkubelevel <command> --help lists the flags of a command.\n`
}

const helpOf = (name: string, command: Command): string =>
  `${helpText({ name, ...command })}${
    command.ignored ? '\nOther flags of kube-apiserver are accepted with a warning.\n' : ''
  }`

/** A folder that is a file, a port in use: the message names it, and where that happened in the program says no more. */
const isRefusedBySystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined

export const runCommandLine = async (
  args: readonly string[],
  machine: Machine,
): Promise<ExitCode> => {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    machine.stdout(overview())
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === 'version') {
    machine.stdout(`kubelevel ${packageVersion()}\n`)
    return 0
  }
  const process = clientProcesses.find((known) => known.name === name)
  if (process !== undefined) return runClientProcess(machine, process, rest)
  const command = getOwn(commands, name)
  if (command === undefined) {
    machine.stderr(usageMistake('kubelevel', `unknown command ${JSON.stringify(name)}`))
    return 2
  }
  if (asksForHelp(rest)) {
    machine.stdout(helpOf(name, command))
    return 0
  }
  if (command.ignored !== undefined && asksForVersion(rest)) {
    machine.stdout(`Kubernetes ${buildInfo().gitVersion}\n`)
    return 0
  }
  try {
    const config = command.flags.includes(configFlag) ? configPathOf(rest) : undefined
    const fromFile = config === undefined ? [] : await readConfigFile(config, command.flags)
    return await command.run(machine, parseFlags(rest, command.flags, { ...command, fromFile }))
  } catch (error) {
    if (isUsageError(error)) {
      machine.stderr(usageMistake(`kubelevel ${name}`, error.message))
      return 2
    }
    if (!isRefusedBySystem(error)) throw error
    machine.stderr(`kubelevel ${name}: ${error.message}\n`)
    return 1
  }
}
