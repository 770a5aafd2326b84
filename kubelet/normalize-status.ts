/** What statuses of containers are cut and put in order to before anybody is told; upstream: pkg/kubelet/status/status_manager.go. */
import { limits } from '#limits'
import { allContainers, type ContainerStateStatus, type ContainerStatus, type Pod } from './pod.js'

const withShorterEnd = (state: ContainerStateStatus, bytes: number): ContainerStateStatus => {
  const { terminated } = state
  const message = Buffer.from(terminated?.message ?? '')
  if (!terminated || message.length <= bytes) return state
  return { terminated: { ...terminated, message: message.subarray(0, bytes).toString('utf8') } }
}

/** A Pod has room for so much of what its containers say at their end, and each has its share (normalizeStatus). */
export const withinShare = (pod: Pod, statuses: readonly ContainerStatus[]): ContainerStatus[] => {
  const bytes = Math.floor(limits.podTerminationMessageBytesMax / allContainers(pod).length)
  return statuses.map((status) => ({
    ...status,
    state: withShorterEnd(status.state, bytes),
    lastState: withShorterEnd(status.lastState, bytes),
  }))
}

/** In the order of their names, other than init containers, which stay in that of the spec (normalizeStatus). */
export const byName = (statuses: readonly ContainerStatus[]): ContainerStatus[] =>
  statuses.toSorted((a, b) => (a.name < b.name ? -1 : 1))
