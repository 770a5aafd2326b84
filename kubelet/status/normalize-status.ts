/** Normalises statuses of containers before they are written; upstream: pkg/kubelet/status/status_manager.go. */
import { limits } from '#limits'
import { allContainers, type ContainerStateStatus, type ContainerStatus, type Pod } from '../pod.js'

const withShorterEnd = (state: ContainerStateStatus, bytes: number): ContainerStateStatus => {
  const { terminated } = state
  const message = Buffer.from(terminated?.message ?? '')
  if (!terminated || message.length <= bytes) return state
  return { terminated: { ...terminated, message: message.subarray(0, bytes).toString('utf8') } }
}

/** Cuts termination messages so that all of a Pod fit; each container has an equal share (normalizeStatus). */
export const withinShare = (pod: Pod, statuses: readonly ContainerStatus[]): ContainerStatus[] => {
  const bytes = Math.floor(limits.podTerminationMessageBytesMax / allContainers(pod).length)
  return statuses.map((status) => ({
    ...status,
    state: withShorterEnd(status.state, bytes),
    lastState: withShorterEnd(status.lastState, bytes),
  }))
}

/** Sorted by name; statuses of init containers stay in the order of the spec instead (normalizeStatus). */
export const byName = (statuses: readonly ContainerStatus[]): ContainerStatus[] =>
  statuses.toSorted((a, b) => (a.name < b.name ? -1 : 1))
