/**
 * Shutdown of the node: its Pods end as failed, critical ones last, each group in its share of the time. Upstream:
 * pkg/kubelet/nodeshutdown/nodeshutdown_manager.go.
 */
import { sleep } from '#async/sleep.js'
import type { Refusal } from '../admission.js'
import type { ForcedEnd } from '../forced-end.js'
import { hasCriticalPriority, type Pod } from '../pod.js'

export interface ShutdownGrace {
  /** For all Pods together. */
  readonly seconds: number
  /** How much of that is for critical Pods alone. */
  readonly criticalSeconds: number
}

interface ShutdownGroup<T> {
  readonly members: readonly T[]
  readonly seconds: number
}

/** Message of the Node's condition, and of Pods that it refuses. */
export const shutdownStatus = 'node is shutting down'
export const shutdownRefusal: Refusal = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
}

const shutdownMessage = 'Pod was terminated in response to imminent node shutdown.'

export const shutdownEnd = (graceSeconds: number): ForcedEnd => ({
  reason: 'Terminated',
  message: shutdownMessage,
  graceSeconds,
  disruption: shutdownMessage,
})

/** In the order in which they end. */
export const shutdownGroups = <T extends { readonly pod: Pod }>(
  workers: readonly T[],
  { seconds, criticalSeconds }: ShutdownGrace,
): ShutdownGroup<T>[] => {
  const isCritical = ({ pod }: T) => hasCriticalPriority(pod)
  const groups = [
    { members: workers.filter((one) => !isCritical(one)), seconds: seconds - criticalSeconds },
    { members: workers.filter(isCritical), seconds: criticalSeconds },
  ]
  return groups.filter(({ members }) => members.length > 0)
}

/** Resolves when all have ended or their time is over. Yields the promises of all ends, which may still be pending. */
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
