/** Priority levels, or the limits of the whole server if somebody has switched those off. */

import type { Filter } from '#filters/kube-request.js'
import { maxInFlight } from '#filters/max-in-flight.js'
import { priorityAndFairness } from '#filters/priority-and-fairness.js'
import { FlowControl } from '#flowcontrol/flow-control.js'
import { WatchCounts } from '#flowcontrol/watch-counts.js'
import { limits } from '#limits'
import type { ServerOptions } from '../options.js'
import type { ServerState } from '../server-state.js'
import type { StartedParts } from '../started-parts.js'
import { FlowSource } from './flow-source.js'

const boundsOf = ({ maxRequestsInFlight, maxMutatingRequestsInFlight }: ServerOptions) => ({
  readOnly: maxRequestsInFlight ?? limits.readRequestsInFlightMax,
  mutating: maxMutatingRequestsInFlight ?? limits.mutatingRequestsInFlightMax,
})

const later = (callback: () => void, ms: number): void => void setTimeout(callback, ms).unref()

/** Undefined if they are switched off. Resolves when the stored ones have been read. */
export const startFlowControl = async (
  state: ServerState,
  options: ServerOptions,
  started: StartedParts,
): Promise<FlowControl | undefined> => {
  const { postStartHooks, stores, clock, log, fieldManagerOf, inFlight } = state
  if (options.priorityAndFairness === false) return undefined
  const { readOnly, mutating } = boundsOf(options)
  if (readOnly + mutating === 0)
    throw new Error(
      'invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; they must add up to something positive',
    )
  const now = () => performance.now()
  const control = new FlowControl({
    now,
    later,
    serverSeats: readOnly + mutating,
    inFlight,
  })
  const storeOf = stores.ofResource
  const flows = new FlowSource({ storeOf, clock, now, later, log, fieldManagerOf, control })
  started.defer(() => flows.stop())
  await flows.start()
  postStartHooks.finish('priority-and-fairness-config-consumer')
  return control
}

export const flowControlFilter = (
  { inFlight, clock, stores, table }: ServerState,
  control: FlowControl | undefined,
  options: ServerOptions,
): Filter => {
  if (control === undefined) return maxInFlight(boundsOf(options), inFlight)
  const requestTimeoutMs = options.requestTimeoutMs ?? limits.requestTimeoutMs
  return priorityAndFairness({
    control,
    clock,
    requestTimeoutMs,
    work: {
      watches: new WatchCounts(),
      sizeOf: ({ apiGroup: group, apiVersion: version, resource }) => {
        const definition = table.get({ group, version, resource })
        return definition && stores.sizeOf(definition)
      },
    },
  })
}
