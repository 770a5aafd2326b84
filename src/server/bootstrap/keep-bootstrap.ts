/**
 * Makes again what somebody has deleted of the system namespaces, the default ServiceCIDR, the flow schemas and the
 * priority levels, and puts back what has been changed of the latter two. Upstream's controllers look every ten seconds (defaultservicecidr) or every minute (systemnamespaces,
 * the producer of flow control); the other objects of a start are made at a start alone.
 */
import { limits } from '#limits'
import { Rounds } from '../rounds.js'
import { type BootstrapDeps, ensureKept } from './bootstrap.js'

export const keepBootstrap = (bootstrap: () => BootstrapDeps): { stop(): Promise<void> } => {
  const stopping = new AbortController()
  const rounds = new Rounds()
  rounds.start(limits.bootstrapCheckMs, async () => {
    const deps = bootstrap()
    try {
      await ensureKept({ ...deps, caller: stopping })
    } catch (error) {
      if (!stopping.signal.aborted) deps.log('the objects of every cluster are not kept', error)
    }
  })
  return {
    stop: () => {
      stopping.abort()
      return rounds.stop()
    },
  }
}
