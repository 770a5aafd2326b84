/** APIServices: group versions, the servers behind them, and their availability. */
import { formatTime } from '#api/clock.js'
import { type Condition, conditionOf, isConditionTrue, sinceWhen } from '#api/conditions.js'
import { groupVersionPath } from '#api/group-version.js'
import type { KubeObject, PersistedObject } from '#api/object.js'
import { jsonEqual } from '#json/object.js'

export interface APIService extends PersistedObject {
  spec: {
    group?: string
    version: string
    groupPriorityMinimum: number
    versionPriority: number
    /** Missing: served by this server. */
    service?: { namespace: string; name: string; port: number }
    /** Base64 of PEM. */
    caBundle?: string
    insecureSkipTLSVerify?: boolean
  }
}

/** Of APIServices that the server itself has made: `true` while it keeps them so, `onstart` where it made them once. */
export const managedLabel = 'kube-aggregator.kubernetes.io/automanaged'

export type Availability = Required<Pick<Condition, 'status' | 'reason' | 'message'>>

const available = 'Available'

export const availabilityOf = (service: KubeObject): Condition | undefined =>
  conditionOf(service, available)

export const isAvailable = (service: KubeObject): boolean => isConditionTrue(service, available)

/** The status with that condition; undefined if nothing changes. The time changes only with the condition's status. */
export const statusWith = (
  service: KubeObject,
  availability: Availability,
  now: number,
): { conditions: Condition[] } | undefined => {
  const before = availabilityOf(service)
  const after = {
    type: available,
    status: availability.status,
    lastTransitionTime: sinceWhen(before, availability.status, formatTime(now)),
    reason: availability.reason,
    message: availability.message,
  }
  if (jsonEqual(before, after)) return undefined
  const all = (service.status?.conditions ?? []) as Condition[]
  return { conditions: [...all.filter(({ type }) => type !== available), after] }
}

/** Where its discovery document is: `/apis/metrics.k8s.io/v1beta1`. */
export const pathOf = ({ spec: { group = '', version } }: APIService): string =>
  groupVersionPath({ group, version })
