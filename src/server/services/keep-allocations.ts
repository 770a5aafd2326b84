/**
 * Repairs the allocated addresses and node ports of Services, where a crash left them different from what Services have
 * (kubernetes, pkg/registry/core/service/ipallocator/controller and portallocator/controller).
 */
import { repairPorts } from '#kinds/core/service-port-pool.js'
import { repairAddresses } from '#kinds/core/service-repair.js'
import { limits } from '#limits'
import { internalContext } from '#registry/internal-context.js'
import type { ServerOptions } from '../options.js'
import { Rounds } from '../rounds.js'
import { bootstrapDeps, type ServerState } from '../server-state.js'
import type { StartedParts } from '../started-parts.js'
import { untilStored } from '../until-stored.js'

/** Repairs once, and from time to time: another server of the store may be killed, and a release may fail. */
export const keepAllocations = async (
  state: ServerState,
  options: ServerOptions,
  started: StartedParts,
): Promise<void> => {
  const repair = async (): Promise<void> => {
    const deps = bootstrapDeps(options, state)
    await repairAddresses(deps)
    await repairPorts(state.nodePorts, internalContext(deps))
  }
  await untilStored(bootstrapDeps(options, state).caller, repair)
  const warn = (error: unknown) => state.log('allocations of Services could not be repaired', error)
  const repairs = new Rounds()
  repairs.start(limits.allocationRepairMs, () => repair().catch(warn))
  started.defer(() => repairs.stop())
}
