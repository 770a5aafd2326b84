/** What commands that ask the running server of a data dir have in common. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { ClientConfig } from '#client/kubeconfig.js'
import { kubeconfigFiles } from '#client/kubeconfig-files.js'
import type { Transport } from '#client/transport.js'
import { whyNoAnswer } from '#client/why-no-answer.js'
import { type Flag, type Flags, helpFlag } from '#program/flags.js'
import type { ExitCode, Machine } from './machine.js'

export const dataDirFlag: Flag = {
  name: 'data-dir',
  type: 'string',
  default: '.kubelevel',
  help: 'data dir of the server',
}

/** The one that a server writes into its data dir. */
export const ownKubeconfig = (flags: Flags): string =>
  path.join(flags.text('data-dir')!, 'kubeconfig')

/** `kubeconfig`: its files. The client is loaded with its first use: most commands have none. */
export const withServer = async <T>(
  kubeconfig: readonly string[],
  use: (transport: Transport, config: ClientConfig) => Promise<T>,
): Promise<T> => {
  const missing = kubeconfig.find((file) => !existsSync(file))
  if (missing !== undefined)
    throw new Error(`there is no file ${missing}: start a server first, or name it by --kubeconfig`)
  const { loadKubeconfig } = await import('#client/kubeconfig.js')
  const { createTransport } = await import('#client/transport.js')
  const config = await loadKubeconfig(...kubeconfig)
  const transport = createTransport(config)
  try {
    return await use(transport, config)
  } finally {
    transport.close()
  }
}

/** Of commands that ask it one question. */
export const runningServerFlags: readonly Flag[] = [
  dataDirFlag,
  {
    name: 'kubeconfig',
    type: 'string',
    help: 'kubeconfig of the server (default: that of --data-dir if it is given, else $KUBECONFIG if that is set, else .kubelevel/kubeconfig)',
  },
  helpFlag,
]

interface Asked {
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly path: string
  readonly body?: object
}

const kubeconfigOf = ({ env: { KUBECONFIG = '' } }: Machine, flags: Flags): string[] => {
  const variable = flags.isGiven('data-dir') ? '' : KUBECONFIG
  return kubeconfigFiles(flags.text('kubeconfig'), variable, ownKubeconfig(flags))
}

/** Throws the message of a refusal. */
export const askServer = <T>(
  machine: Machine,
  flags: Flags,
  { body, ...asked }: Asked,
): Promise<T> =>
  withServer(kubeconfigOf(machine, flags), async (transport) => {
    const answer = await transport.send({
      ...asked,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    let text = ''
    for await (const piece of answer.setEncoding('utf8')) text += piece
    // A 404 of an unknown path is plain text.
    const isJson = answer.headers['content-type'] === 'application/json'
    const said = isJson ? JSON.parse(text) : { message: text.trim() }
    if (answer.statusCode !== 200) throw new Error(said.message)
    return said
  })

/** Prints what `run` yields, or why it failed: one line, exit code 1. `explain` throws again what is no operator's to read. */
export const printOutcome = async (
  machine: Machine,
  command: string,
  run: () => Promise<string>,
  explain: (error: Error) => string = whyNoAnswer,
): Promise<ExitCode> => {
  try {
    machine.stdout(`${await run()}\n`)
    return 0
  } catch (error) {
    machine.stderr(`kubelevel ${command}: ${explain(error as Error)}\n`)
    return 1
  }
}
