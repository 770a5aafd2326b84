/** A container may end in a way that restarts all of its Pod's, init containers included (v1.36: RestartAllContainers). */
import { restartAction } from '#api/container-restart.js'
import { type ContainerStatus, findContainer, type Pod } from './pod.js'
import type { Container } from './runtime.js'

const reason = 'RestartingAllContainers'
const message = 'The container is removed because RestartAllContainers in place'

export const asksForAll = (pod: Pod, { name, state, halted, exitCode }: Container): boolean => {
  const spec = findContainer(pod, name)
  if (state !== 'exited' || halted || !spec) return false
  return restartAction(spec, exitCode) === 'RestartAllContainers'
}

/** The containers that asked for it last: a kubelet that is killed on the way finds them, and goes on. */
export const inOrderOfRemoval = (pod: Pod, containers: readonly Container[]): Container[] =>
  containers.toSorted((a, b) => Number(asksForAll(pod, a)) - Number(asksForAll(pod, b)))

/** The status of a container that was removed and waits for its turn. */
export const removedStatus = (before: ContainerStatus): ContainerStatus =>
  waitsForItsTurn(before)
    ? before
    : {
        ...before,
        state: { waiting: { reason, message } },
        lastState: { terminated: { exitCode: 137, reason, message } },
        restartCount: before.restartCount + 1,
        ready: false,
        started: false,
      }

export const waitsForItsTurn = ({ state }: ContainerStatus): boolean =>
  state.waiting?.reason === reason

export const endedForAll = (end: { reason?: string }): boolean => end.reason === reason
