/** `kubelevel serve`: the API server alone, in the foreground. */

import { whenAborted } from '#async/sleep.js'
import type { Flags } from '#program/flags.js'
import type { Server } from '#server/create-server.js'
import { deprecatedAdmissionPlugins } from './admission-plugin-names.js'
import type { ExitCode, Machine } from './machine.js'
import { serverOptionsOf } from './serve-flags.js'

/** One line that says what to do about it, for what goes wrong most often at a start. */
const explain = (error: unknown, flags: Flags): string => {
  const { code, message } = error as NodeJS.ErrnoException
  const where = `port ${flags.text('secure-port')} on ${flags.text('bind-address')}`
  if (code === 'EADDRINUSE')
    return `${where} is in use: choose another with --secure-port, or --secure-port=0 for a free one`
  if (code === 'EACCES' && message.includes('listen')) return `${where} needs more privileges`
  if (code === 'EADDRNOTAVAIL') return `${flags.text('bind-address')} is no address of this machine`
  return message
}

/** Starts it; undefined after a failure that was told on stderr. */
export const startServer = async (
  machine: Machine,
  flags: Flags,
  command: string,
): Promise<Server | undefined> => {
  for (const flag of flags.ignored)
    machine.stderr(`kubelevel ${command}: ${flag} has no meaning here and is ignored\n`)
  const options = serverOptionsOf(flags)
  for (const plugin of options.enableAdmissionPlugins ?? [])
    if (deprecatedAdmissionPlugins.has(plugin))
      machine.stderr(
        `kubelevel ${command}: ${plugin} admission controller is deprecated. Please remove this controller from your configuration files and scripts.\n`,
      )
  try {
    const { createServer } = await machine.server.load()
    return await createServer(options)
  } catch (error) {
    machine.stderr(`kubelevel ${command}: ${explain(error, flags)}\n`)
    return undefined
  }
}

/** A word that a shell takes as it is. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** Tells that the server is ready. `next` is what to try first, a line each. */
export const announce = (
  machine: Machine,
  server: Server,
  kubeconfig: string,
  next: readonly string[] = ['kubectl get namespaces'],
): void => {
  const ms = Math.round(machine.uptimeMs())
  if (!machine.isTerminal) {
    machine.stderr(`ready ${server.url} kubeconfig=${kubeconfig} in ${ms} ms\n`)
    return
  }
  machine.stderr(
    `kubelevel is ready in ${ms} ms: ${server.url}\n\n  export KUBECONFIG=${shellWord(kubeconfig)}\n${next.map((line) => `  ${line}\n`).join('')}\nCtrl-C stops it.\n`,
  )
}

export const serve = async (
  machine: Machine,
  flags: Flags,
  kubeconfig: string,
): Promise<ExitCode> => {
  const server = await startServer(machine, flags, 'serve')
  if (server === undefined) return 1
  announce(machine, server, kubeconfig)
  machine.server.started()
  await whenAborted(machine.stopSignal)
  await server.close()
  return 0
}
