/** The conditions of a Pod that the kubelet writes; upstream: pkg/kubelet/status/generate.go. */

import { formatTime } from '#api/clock.js'
import { conditionOf, putCondition, sinceWhen } from '#api/conditions.js'
import { mayRestartAll } from '#api/container-restart.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import { disruptionOf, isKubeletsDisruption } from '../forced-end.js'
import {
  type ContainerStatus,
  isSidecar,
  type Pod,
  type PodCondition,
  type PodPhase,
} from '../pod.js'
import { asksForAll } from '../restart-all.js'
import type { StatusInput } from './status-input.js'

type Finding = Pick<PodCondition, 'status' | 'reason' | 'message'>

const named = (names: readonly string[]): string => `[${names.join(' ')}]`

/** Once it was, a Pod stays initialized, whatever becomes of its init containers. */
const initialized = (
  pod: Pod,
  phase: PodPhase,
  statuses: ReadonlyMap<string, ContainerStatus>,
  wasInitialized: boolean,
): Finding => {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' }
  // Once a main container has run the Pod stays initialized, though a sidecar may be starting again.
  const begun = pod.spec.containers.some(({ name }) => {
    const status = statuses.get(name)
    return status?.state.running || status?.state.terminated || status?.lastState.terminated
  })
  if (begun) return { status: 'True' }
  const incomplete = (pod.spec.initContainers ?? [])
    .filter((spec) => {
      const status = statuses.get(spec.name)!
      return isSidecar(spec) ? !status.started : !status.ready
    })
    .map(({ name }) => name)
  if (incomplete.length === 0 || wasInitialized) return { status: 'True' }
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: ${named(incomplete)}`,
  }
}

const containersReady = (
  pod: Pod,
  phase: PodPhase,
  statuses: ReadonlyMap<string, ContainerStatus>,
): Finding => {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' }
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' }
  const counted = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers]
  const unready = counted.map(({ name }) => name).filter((name) => !statuses.get(name)?.ready)
  if (unready.length === 0) return { status: 'True' }
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: ${named(unready)}`,
  }
}

const ready = (pod: Pod, containers: Finding, conditions: readonly PodCondition[]): Finding => {
  if (containers.status !== 'True') return containers
  const open = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = conditions.find(({ type }) => type === conditionType)
    if (!condition) {
      return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`]
    }
    if (condition.status === 'True') return []
    return [
      `the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`,
    ]
  })
  if (open.length === 0) return { status: 'True' }
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: open.join(', ') }
}

const ownTypes = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  'PodResizePending',
  'PodResizeInProgress',
])

/** Conditions that the kubelet sets and removes. */
export const isOwnCondition = ({ type }: PodCondition): boolean => ownTypes.has(type)

/** Conditions that the kubelet writes: its own, and DisruptionTarget if it has ended the Pod. */
export const isWrittenCondition = (condition: PodCondition): boolean =>
  isOwnCondition(condition) || isKubeletsDisruption(condition)

/** Conditions of others; once the Pod has ended because of a disruption, our DisruptionTarget replaces theirs. */
const conditionsBeforeOwn = (input: StatusInput): PodCondition[] => {
  const { pod, forcedEnd, stopped } = input
  const others = conditionsOfOthers(pod)
  if (forcedEnd?.disruption === undefined || !stopped) return others
  const { type, ...finding } = disruptionOf(forcedEnd.disruption)
  const disruption = conditionFor(input, type, finding)
  return putCondition(others, disruption)
}

export const conditionsOfOthers = (pod: Pod): PodCondition[] =>
  (pod.status?.conditions ?? []).filter((condition) => !isOwnCondition(condition))

const restarting = ({ pod, containers }: StatusInput, phase: PodPhase): Finding => {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' }
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' }
  if (!containers.some((container) => asksForAll(pod, container))) return { status: 'False' }
  return {
    status: 'True',
    reason: 'RestartAllContainersStarted',
    message: 'container exited with restart policy rule',
  }
}

/** As it was told last. */
const toldOf = ({ pod, previous }: StatusInput, type: string): PodCondition | undefined =>
  conditionOf({ status: previous }, type) ?? conditionOf(pod, type)

/** The condition with the time of the last change of its status. */
const conditionFor = (input: StatusInput, type: string, finding: Finding): PodCondition => {
  const { pod, now } = input
  // Upstream says of no generation whether all containers restart.
  const generation = type === 'AllContainersRestarting' ? undefined : pod.metadata.generation
  const last = toldOf(input, type)
  return {
    type,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastProbeTime: null,
    lastTransitionTime: sinceWhen(last, finding.status, formatTime(now)),
    ...finding,
  }
}

/** The conditions of others as they are, then the kubelet's (upstream: mergePodStatus). */
export const makeConditions = (
  input: StatusInput,
  phase: PodPhase,
  containerStatuses: readonly ContainerStatus[],
): PodCondition[] => {
  const { pod, sandbox, stopped } = input
  const statuses = new Map(containerStatuses.map((status) => [status.name, status]))
  const before = pod.status?.conditions ?? []
  const containers = containersReady(pod, phase, statuses)
  const findings: Record<string, Finding> = {
    PodReadyToStartContainers: { status: sandbox?.ready && !stopped ? 'True' : 'False' },
    Initialized: initialized(pod, phase, statuses, toldOf(input, 'Initialized')?.status === 'True'),
    Ready: ready(pod, containers, before),
    ContainersReady: containers,
    PodScheduled: { status: 'True' },
    ...(mayRestartAll(pod.spec) ? { AllContainersRestarting: restarting(input, phase) } : {}),
  }
  const own = Object.entries(findings).map(([type, finding]) => conditionFor(input, type, finding))
  const resizing = isTerminalPhase(phase) ? [] : input.resize.conditions
  return [...conditionsBeforeOwn(input), ...resizing, ...own]
}
