/** Bounds reading and writing requests in flight where priority and fairness is off. */
import { mastersGroup } from '#api/user-info.js'
import { type InFlight, kindOfVerb, type RequestKind } from '#flowcontrol/in-flight.js'
import type { Filter } from './kube-request.js'
import { isLongRunning } from './long-running.js'
import { tooManyRequests } from './too-many-requests.js'

/** 0 means no bound. */
type InFlightLimits = Readonly<Record<RequestKind, number>>

export const maxInFlight =
  (limits: InFlightLimits, inFlight: InFlight): Filter =>
  ({ kube }) => {
    const { info, user } = kube
    if (isLongRunning(info)) return
    const kind = kindOfVerb(info.verb)
    // Without a bound there is nothing to count.
    if (limits[kind] === 0) return
    const running = inFlight[kind].executing
    if (running.value < limits[kind]) {
      running.add(1, performance.now())
      kube.whenOver((endedAt) => running.add(-1, endedAt))
      return
    }
    // Upstream lets administrators through uncounted, so that they can look into an overload.
    if (!user.groups.includes(mastersGroup)) throw tooManyRequests(1)
  }
