/** What counts against a ResourceQuota. Pure. */
import { parseTime } from '#api/clock.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import {
  addAmounts,
  familyOf,
  formatMilli,
  type MilliAmounts,
  parseAmounts,
} from '#client/amount.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'

export interface ResourceQuota extends NamespacedObject {
  spec: {
    hard?: Record<string, string>
    scopes?: string[]
    scopeSelector?: {
      matchExpressions?: { scopeName: string; operator: string; values?: string[] }[]
    }
  }
  status: { hard?: Record<string, string>; used?: Record<string, string> }
}

const one = 1000n

const limitsOf = (pod: Pod): MilliAmounts =>
  podRequests({
    ...pod,
    spec: {
      ...pod.spec,
      containers: pod.spec.containers.map(limitsAsRequests),
      ...(pod.spec.initContainers
        ? { initContainers: pod.spec.initContainers.map(limitsAsRequests) }
        : {}),
    },
  })
const limitsAsRequests = <T extends { resources?: { limits?: Record<string, string> } }>(
  c: T,
): T => ({
  ...c,
  resources: { requests: c.resources?.limits ?? {} },
})

/**
 * Finished Pods take up no machine, and a Pod that should be gone twice over (its node is lost) must not keep others from
 * taking its place.
 */
export const isCharged = (pod: Pod, now: number): boolean => {
  if (isPodTerminal(pod)) return false
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true
  return now <= parseTime(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

/** Whether quotas that limit only Pods with, or without, a deadline count it. */
export const hasDeadline = ({ spec }: Pod): boolean => (spec.activeDeadlineSeconds ?? -1) >= 0

/** What is not charged still takes up a name. */
export const podUsage = (pod: Pod, now: number): MilliAmounts => {
  const used: MilliAmounts = new Map([['count/pods', one]])
  if (!isCharged(pod, now)) return used
  used.set('pods', one)
  for (const [name, milli] of podRequests(pod)) {
    used.set(`requests.${name}`, milli)
    if (['cpu', 'memory', 'ephemeral-storage'].includes(name)) used.set(name, milli)
  }
  for (const [name, milli] of limitsOf(pod)) used.set(`limits.${name}`, milli)
  return used
}

export const serviceUsage = (service: PersistedObject): MilliAmounts => {
  const ports = BigInt(service.spec?.ports?.length ?? 0) * one
  const type = service.spec?.type
  return new Map([
    ['count/services', one],
    ['services', one],
    ...(type === 'NodePort' ? ([['services.nodeports', ports]] as const) : []),
    ...(type === 'LoadBalancer'
      ? ([
          ['services.loadbalancers', one],
          ['services.nodeports', service.spec.allocateLoadBalancerNodePorts === false ? 0n : ports],
        ] as const)
      : []),
  ])
}

export const claimUsage = (claim: PersistedObject): MilliAmounts => {
  const storage = parseAmounts(claim.spec?.resources?.requests).get('storage') ?? 0n
  const used: MilliAmounts = new Map([
    ['count/persistentvolumeclaims', one],
    ['persistentvolumeclaims', one],
    ['requests.storage', storage],
  ])
  const storageClass = claim.spec?.storageClassName
  if (storageClass) {
    const prefix = `${storageClass}.storageclass.storage.k8s.io/`
    used.set(`${prefix}requests.storage`, storage)
    used.set(`${prefix}persistentvolumeclaims`, one)
  }
  return used
}

const isBestEffort = (pod: Pod): boolean => podRequests(pod).size + limitsOf(pod).size === 0
const scopes: Record<string, (pod: Pod, values: readonly string[], operator: string) => boolean> = {
  Terminating: hasDeadline,
  NotTerminating: (pod) => !hasDeadline(pod),
  BestEffort: isBestEffort,
  NotBestEffort: (pod) => !isBestEffort(pod),
  CrossNamespacePodAffinity: (pod) =>
    JSON.stringify(pod.spec.affinity ?? {}).includes('"namespace'),
  PriorityClass(pod, values, operator) {
    const name: string = (pod.spec as { priorityClassName?: string }).priorityClassName ?? ''
    if (operator === 'Exists') return name !== ''
    if (operator === 'DoesNotExist') return name === ''
    return values.includes(name) === (operator === 'In')
  },
}

/** All scopes of the quota hold for the Pod. */
export const isInScope = (quota: ResourceQuota, pod: Pod): boolean => {
  const expressions = [
    ...(quota.spec.scopes ?? []).map((scopeName) => ({
      scopeName,
      operator: 'Exists',
      values: [],
    })),
    ...(quota.spec.scopeSelector?.matchExpressions ?? []),
  ]
  return expressions.every((e) => scopes[e.scopeName]?.(pod, e.values ?? [], e.operator) ?? false)
}

export const hasScopes = (quota: ResourceQuota): boolean =>
  (quota.spec.scopes ?? []).length + (quota.spec.scopeSelector?.matchExpressions ?? []).length > 0

export const sumUsage = (usages: Iterable<MilliAmounts>): MilliAmounts => {
  const total: MilliAmounts = new Map()
  for (const usage of usages) addAmounts(total, usage)
  return total
}

/** Only what the quota limits, written as its limit is. */
export const usedOf = (hard: Record<string, string>, usage: MilliAmounts): Record<string, string> =>
  Object.fromEntries(
    Object.entries(hard).map(([name, limit]) => [
      name,
      formatMilli(usage.get(name) ?? 0n, familyOf(limit)),
    ]),
  )
