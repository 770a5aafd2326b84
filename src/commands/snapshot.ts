/** `kubelevel snapshot [NAME]` and `kubelevel reset [NAME]`: ask a running server to take and to restore a snapshot. */
import type { Flags } from '#program/flags.js'
import { snapshotsPath } from '#routes/kubelevel/snapshots.js'
import type { ExitCode, Machine } from './machine.js'
import { askServer, printOutcome } from './running-server.js'

const nameDefault = 'default'

interface Taken {
  readonly objects: number
  readonly revision: number
}

interface Restored {
  readonly created: number
  readonly updated: number
  readonly deleted: number
  readonly revision: number
}

const nameOf = ({ argument }: Flags): string => argument || nameDefault
const pathOf = (flags: Flags): string => `${snapshotsPath}/${encodeURIComponent(nameOf(flags))}`

export const snapshotCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  printOutcome(machine, 'snapshot', async () => {
    const { objects, revision } = await askServer<Taken>(machine, flags, {
      method: 'PUT',
      path: pathOf(flags),
    })
    return `snapshot ${nameOf(flags)}: ${objects} objects at revision ${revision}`
  })

export const resetCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  printOutcome(machine, 'reset', async () => {
    const asked = { method: 'POST', path: `${pathOf(flags)}/restore` } as const
    const { created, updated, deleted, revision } = await askServer<Restored>(machine, flags, asked)
    const name = nameOf(flags)
    return `reset to ${name}: ${created} created, ${updated} updated, ${deleted} deleted, at revision ${revision}`
  })
