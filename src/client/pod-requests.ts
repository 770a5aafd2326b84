/**
 * What a Pod asks of its node: the larger of its containers together and of each step of its start, where sidecars
 * (init containers with restartPolicy Always) stay and so count on. Plus overhead. Upstream: resourcehelper.PodRequests.
 */
import { addAmounts, type MilliAmounts, maxAmounts, parseAmounts } from './amount.js'
import type { Container, PodSpec } from './pod.js'

type Asking = Pick<Container, 'resources' | 'restartPolicy'>
/** The part of a Pod that says what it requests. */
export interface AskingPod {
  spec: Pick<PodSpec, 'resources' | 'overhead'> & {
    containers: readonly Asking[]
    initContainers?: readonly Asking[]
  }
}

/** `missing` stands in where a container asks for nothing of a resource. */
export const podRequests = (pod: AskingPod, missing?: MilliAmounts): MilliAmounts => {
  const requestsOf = ({ resources }: Asking): MilliAmounts =>
    new Map([...(missing ?? []), ...parseAmounts(resources?.requests)])
  const total: MilliAmounts = new Map()
  for (const container of pod.spec.containers) addAmounts(total, requestsOf(container))
  const sidecars: MilliAmounts = new Map()
  const start: MilliAmounts = new Map()
  for (const container of pod.spec.initContainers ?? []) {
    const step = requestsOf(container)
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
