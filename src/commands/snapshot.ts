/** `kubelevel snapshot [NAME]` and `kubelevel reset [NAME]`: ask a running server to take and to restore a snapshot. */
import { type Flag, type Flags, helpFlag } from '#api/flags.js'
import { snapshotsPath } from '#routes/snapshots.js'
import type { ExitCode, Machine } from './machine.js'
import { dataDirFlag, ownKubeconfig, printOutcome, withServer } from './running-server.js'

export const snapshotFlags: readonly Flag[] = [
  dataDirFlag,
  {
    name: 'kubeconfig',
    type: 'string',
    help: 'kubeconfig of the server (default <data-dir>/kubeconfig)',
  },
  helpFlag,
]

const nameDefault = 'default'

interface JsonAnswer {
  readonly objects?: number
  readonly revision?: number
  readonly created?: number
  readonly updated?: number
  readonly deleted?: number
  readonly message?: string
}

interface Asked {
  readonly method: 'PUT' | 'POST'
  readonly path: string
}

/** Throws the message of a refusal. */
const ask = (flags: Flags, asked: Asked): Promise<JsonAnswer> =>
  withServer(flags.text('kubeconfig') ?? ownKubeconfig(flags), async (transport) => {
    const answer = await transport.send(asked)
    let text = ''
    for await (const piece of answer.setEncoding('utf8')) text += piece
    // A 404 of an unknown path is plain text.
    const isJson = answer.headers['content-type'] === 'application/json'
    const body: JsonAnswer = isJson ? JSON.parse(text) : { message: text.trim() }
    if (answer.statusCode !== 200) throw new Error(body.message)
    return body
  })

const nameOf = ({ argument }: Flags): string => argument || nameDefault
const pathOf = (flags: Flags): string => `${snapshotsPath}/${encodeURIComponent(nameOf(flags))}`

export const snapshotCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  printOutcome(machine, 'snapshot', async () => {
    const { objects, revision } = await ask(flags, { method: 'PUT', path: pathOf(flags) })
    return `snapshot ${nameOf(flags)}: ${objects} objects at revision ${revision}`
  })

export const resetCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  printOutcome(machine, 'reset', async () => {
    const asked = { method: 'POST', path: `${pathOf(flags)}/restore` } as const
    const { created, updated, deleted, revision } = await ask(flags, asked)
    const name = nameOf(flags)
    return `reset to ${name}: ${created} created, ${updated} updated, ${deleted} deleted, at revision ${revision}`
  })
