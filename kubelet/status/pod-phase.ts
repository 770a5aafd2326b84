/** The phase of a Pod by the states of its containers; upstream's getPhase (pkg/kubelet/kubelet_pods.go). */
import {
  type ContainerSpec,
  type ContainerStateTerminated,
  type ContainerStatus,
  isSidecar,
  type Pod,
  type PodPhase,
} from '../pod.js'
import { endedForAll } from '../restart-all.js'

interface PhaseInput {
  readonly pod: Pod
  /** In the order of the Pod's init containers and containers. */
  readonly inits: readonly ContainerStatus[]
  readonly mains: readonly ContainerStatus[]
  /** Everything has stopped and nothing will start again. */
  readonly stopped: boolean
  mayRestart(container: ContainerSpec, exitCode: number): boolean
}

/** How it ended, when it does not run: now, or before it began to wait for its next start. */
const endOf = ({ state, lastState }: ContainerStatus) =>
  state.running ? undefined : (state.terminated ?? lastState.terminated)

const isFinal = (
  { mayRestart }: PhaseInput,
  spec: ContainerSpec,
  end: ContainerStateTerminated,
): boolean => !endedForAll(end) && !mayRestart(spec, end.exitCode)

const countInits = (input: PhaseInput) => {
  const { pod, inits } = input
  const counts = { pending: 0, sidecarsPending: 0, waiting: 0, running: 0, failed: 0 }
  for (const [i, spec] of (pod.spec.initContainers ?? []).entries()) {
    const status = inits[i]!
    const end = endOf(status)
    if (!isSidecar(spec)) {
      if (!end) counts.pending++
      else if (end.exitCode !== 0 && isFinal(input, spec, end)) counts.failed++
    } else if (status.state.running) {
      counts.running++
      if (!status.started) counts.sidecarsPending++
    } else if (!end) {
      counts.sidecarsPending++
      counts.waiting++
    }
  }
  return counts
}

const countMains = (input: PhaseInput) => {
  const { pod, mains } = input
  const counts = { waiting: 0, running: 0, stopped: 0, forGood: 0, succeeded: 0 }
  for (const [i, spec] of pod.spec.containers.entries()) {
    const status = mains[i]!
    const end = endOf(status)
    if (status.state.running) counts.running++
    else if (!end) counts.waiting++
    else {
      counts.stopped++
      if (isFinal(input, spec, end)) counts.forGood++
      if (status.state.terminated?.exitCode === 0) counts.succeeded++
    }
  }
  return counts
}

export const phaseOf = (input: PhaseInput): PodPhase => {
  const init = countInits(input)
  const main = countMains(input)
  if (init.failed > 0) return 'Failed'
  const begun = main.running + main.stopped > 0
  if (init.pending > 0 || (init.sidecarsPending > 0 && !begun)) return 'Pending'
  if (init.waiting + main.waiting > 0) return 'Pending'
  if (init.running + main.running > 0) return 'Running'
  if (main.stopped === 0) return 'Pending'
  // Whatever restartPolicy says.
  if (!input.stopped && main.stopped !== main.forGood) return 'Running'
  return main.stopped === main.succeeded ? 'Succeeded' : 'Failed'
}
