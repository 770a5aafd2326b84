/**
 * The node goes down for good: its Pods end as failed, those that the cluster cannot do without last, each group in its
 * share of the time. Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go.
 */
import { sleep } from '#client/backoff.js'
import type { Refusal } from './admission.js'
import type { Pod, PodCondition } from './pod.js'

export interface ShutdownGrace {
  /** For all Pods together. */
  readonly seconds: number
  /** How much of that is for critical Pods alone. */
  readonly criticalSeconds: number
}

export interface ShutdownGroup<T> {
  readonly members: readonly T[]
  readonly seconds: number
}

/** Upstream's SystemCriticalPriority. */
const criticalPriority = 2_000_000_000

/** What a Node says of itself, and why it takes no Pod any more. */
export const shutdownStatus = 'node is shutting down'
export const shutdownRefusal: Refusal = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
}

/** What is said of a Pod that has ended so, unless it has succeeded all the same. */
export const shutdownReason = 'Terminated'
export const shutdownMessage = 'Pod was terminated in response to imminent node shutdown.'
export const shutdownCondition: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'> = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'TerminationByKubelet',
  message: shutdownMessage,
}

/** In the order in which they end. */
export const shutdownGroups = <T extends { readonly pod: Pod }>(
  workers: readonly T[],
  { seconds, criticalSeconds }: ShutdownGrace,
): ShutdownGroup<T>[] => {
  const isCritical = ({ pod }: T) => (pod.spec.priority ?? 0) >= criticalPriority
  const groups = [
    { members: workers.filter((one) => !isCritical(one)), seconds: seconds - criticalSeconds },
    { members: workers.filter(isCritical), seconds: criticalSeconds },
  ]
  return groups.filter(({ members }) => members.length > 0)
}

/** Resolves when all have ended, or their time is over; yields the ends of all, which may be still to come. */
export const endInGroups = async <T extends { readonly pod: Pod }>(
  groups: readonly ShutdownGroup<T>[],
  end: (member: T, graceSeconds: number) => Promise<void>,
): Promise<Promise<unknown>[]> => {
  const all: Promise<unknown>[] = []
  for (const { members, seconds } of groups) {
    const over = new AbortController()
    const ended = members.map((member) => {
      const own = member.pod.spec.terminationGracePeriodSeconds ?? seconds
      return end(member, Math.min(own, seconds))
    })
    await Promise.race([Promise.all(ended), sleep(seconds * 1000, over.signal)])
    over.abort()
    all.push(...ended)
  }
  return all
}
