/**
 * What a Pod asks of its node: the larger of its containers together and of each step of its start, where sidecars
 * (init containers with restartPolicy Always) stay and so count on. Plus overhead. Upstream: resourcehelper.PodRequests.
 */
import { addAmounts, type MilliAmounts, maxAmounts, parseAmounts } from './amount.js'
import type { Pod } from './pod.js'

export const podRequests = (pod: Pod): MilliAmounts => {
  const total: MilliAmounts = new Map()
  for (const container of pod.spec.containers)
    addAmounts(total, parseAmounts(container.resources?.requests))
  const sidecars: MilliAmounts = new Map()
  const start: MilliAmounts = new Map()
  for (const container of pod.spec.initContainers ?? []) {
    const step = parseAmounts(container.resources?.requests)
    if (container.restartPolicy === 'Always') {
      addAmounts(total, step)
      addAmounts(sidecars, step)
      maxAmounts(start, sidecars)
    } else {
      addAmounts(step, sidecars)
      maxAmounts(start, step)
    }
  }
  maxAmounts(total, start)
  // Requests of the whole Pod take the place of the sum where they are given.
  for (const [name, milli] of parseAmounts(pod.spec.resources?.requests)) total.set(name, milli)
  addAmounts(total, parseAmounts(pod.spec.overhead))
  return total
}
