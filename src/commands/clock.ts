/** `kubelevel clock [DURATION]`: tells what time it is for a running server, or moves its clock on first. */

import { clockPath } from '#api/movable-clock.js'
import type { Flags } from '#program/flags.js'
import type { ExitCode, Machine } from './machine.js'
import { askServer, printOutcome } from './running-server.js'

interface Told {
  readonly now: string
  readonly ahead: string
  readonly aheadMs: number
}

export const clockCommand = (machine: Machine, flags: Flags): Promise<ExitCode> =>
  printOutcome(machine, 'clock', async () => {
    const { argument } = flags
    const { now, ahead, aheadMs } = await askServer<Told>(machine, flags, {
      path: clockPath,
      ...(argument ? { method: 'POST', body: { advance: argument } } : { method: 'GET' }),
    })
    return aheadMs === 0 ? now : `${now}, ${ahead} ahead of this machine`
  })
