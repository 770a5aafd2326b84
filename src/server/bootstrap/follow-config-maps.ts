/** Keeps the server's ConfigMaps in kube-system correct while it runs: others read there whom to trust. */
import type { QueueMetrics } from '#client/queue-metrics.js'
import { WorkQueue, work } from '#client/work-queue.js'
import { type FollowerDeps, followObjects } from '#registry/follow-objects.js'
import { workLog } from '#src/aggregator/work-log.js'
import type { FollowedTrust } from '../credentials/client-trust.js'
import { keepConfigMap } from './bootstrap.js'
import { keptConfigMaps } from './config-maps.js'

const namespace = 'kube-system'

export const followKeptConfigMaps = async (
  trust: FollowedTrust,
  deps: FollowerDeps & { readonly queues: QueueMetrics },
): Promise<{ stop(): Promise<void> }> => {
  const { storeOf, clock, log } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const queue = new WorkQueue({
    figures: deps.queues.of('cluster_authentication_trust_controller'),
  })
  const maps = () => keptConfigMaps(trust.current, clock.now())
  const names = new Set(maps().map(({ name }) => name))
  const look = (name: string | undefined): void => {
    if (name !== undefined && names.has(name)) queue.add(name)
  }
  // The list of the start needs no work: it has just corrected these ConfigMaps.
  let isStarted = false
  const { done } = await followObjects(
    { ...deps, signal },
    { group: '', resource: 'configmaps' },
    {
      replace: () => {
        if (isStarted) names.forEach(look)
      },
      changed: (_type, { metadata }) => look(metadata.name),
    },
    namespace,
  )
  isStarted = true
  const trustChanged = (): void => names.forEach(look)
  trust.on('change', trustChanged)
  const working = work({
    queue,
    workers: 1,
    sync: async (name) => {
      const map = maps().find((one) => one.name === name)!
      await keepConfigMap({ stores: storeOf, now: clock.now(), caller: { signal } }, map)
    },
    log: workLog('ConfigMap', log),
    signal,
  })
  return {
    stop: async () => {
      stopping.abort()
      trust.off('change', trustChanged)
      await Promise.all([done, working])
    },
  }
}
