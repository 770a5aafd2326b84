/**
 * Computes a Pod's status from its spec and from what the runtime and the probes report, never from what was done.
 * Upstream: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus, getPhase) and pkg/kubelet/status/generate.go.
 */

import { formatTime } from '#api/clock.js'
import { mayRestartAll } from '#api/container-restart.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import {
  type ContainerSpec,
  type ContainerStateStatus,
  type ContainerStatus,
  isInit,
  isSidecar,
  type Pod,
  type PodPhase,
  type PodStatus,
  restartsAfter,
  statusesOf,
} from '../pod.js'
import { removedStatus, waitsForItsTurn } from '../restart-all.js'
import type { Container, Sandbox } from '../runtime.js'
import { byName, withinShare } from './normalize-status.js'
import { conditionsOfOthers, makeConditions } from './pod-conditions.js'
import { phaseOf } from './pod-phase.js'
import { podResources } from './pod-resources.js'
import type { StatusInput, Verdict } from './status-input.js'

const terminated = (container: Container, runtimeName: string): ContainerStateStatus => ({
  terminated: {
    exitCode: container.exitCode,
    reason: container.reason || (container.exitCode === 0 ? 'Completed' : 'Error'),
    ...(container.message === '' ? {} : { message: container.message }),
    startedAt: formatTime(container.startedAt),
    finishedAt: formatTime(container.finishedAt),
    containerID: `${runtimeName}://${container.id}`,
  },
})

const stateOf = (
  container: Container | undefined,
  waiting: string,
  runtimeName: string,
): ContainerStateStatus => {
  if (container?.state === 'running') {
    return { running: { startedAt: formatTime(container.startedAt) } }
  }
  if (container?.state === 'exited') return terminated(container, runtimeName)
  return { waiting: { reason: waiting } }
}

const mountStatuses = (container: ContainerSpec, recursive: readonly string[] = []) =>
  (container.volumeMounts ?? []).map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly
      ? {
          readOnly: true,
          recursiveReadOnly: recursive.includes(mountPath) ? 'Enabled' : 'Disabled',
        }
      : {}),
  }))

/** For a container that cannot be found and will not run again; upstream's texts. */
const unlocated: ContainerStateStatus = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
}

const locate = (status: ContainerStatus): ContainerStatus =>
  status.state.terminated ? status : { ...status, state: unlocated, ready: false, started: false }

const hasRun = ({ state, lastState }: ContainerStatus): boolean =>
  state.waiting === undefined || lastState.terminated !== undefined

/** Whether main containers have had their turn, by what was told of the Pod before its end (upstream: hasPodInitialized). */
const isInitialized = ({ spec }: Pod, told: PodStatus): boolean => {
  const specs = spec.initContainers ?? []
  if (specs.length === 0 || told.containerStatuses?.some(hasRun)) return true
  const last = told.initContainerStatuses?.at(-1)
  if (isSidecar(specs.at(-1)!)) return last?.state.running !== undefined && last.started === true
  return [last?.state.terminated, last?.lastState.terminated].some((end) => end?.exitCode === 0)
}

/**
 * Final statuses once nothing is left (upstream: TerminatePod): a container whose end is unknown has failed. Containers
 * that never had their turn go on waiting: main containers of a Pod that was never initialized, and init containers after
 * the last one that ran, of which the first counts as begun.
 */
const locateAll = (
  { pod, previous }: StatusInput,
  inits: readonly ContainerStatus[],
  mains: readonly ContainerStatus[],
) => {
  const begun = Math.max(0, inits.findLastIndex(hasRun))
  return {
    inits: inits.map((status, i) => (i <= begun ? locate(status) : status)),
    mains: isInitialized(pod, previous) ? mains.map(locate) : [...mains],
  }
}

/** The kept status of a container without a record in the runtime; undefined if it has not been made yet. */
const withoutRecords = (
  { pod, ending, stopped }: StatusInput,
  said: ContainerStatus,
): ContainerStatus | undefined => {
  const hadItsTurn = !said.state.waiting || waitsForItsTurn(said)
  if (!ending && hadItsTurn && mayRestartAll(pod.spec)) return removedStatus(said)
  // An earlier kubelet has reported its end; its records are gone.
  if (said.state.terminated) return said
  // It did run, but its records are gone, so its end will stay unknown.
  if (ending && said.containerID) return stopped ? locate(said) : said
  return undefined
}

const statesOf = (
  { pod, problems, runtimeName, ending }: StatusInput,
  spec: ContainerSpec,
  { latest, before, said }: Attempts,
): Pick<ContainerStatus, 'state' | 'lastState'> => {
  const initializes = (pod.spec.initContainers?.length ?? 0) > 0
  const state = stateOf(latest, initializes ? 'PodInitializing' : 'ContainerCreating', runtimeName)
  const lastState: ContainerStateStatus =
    before?.state === 'exited' ? terminated(before, runtimeName) : (said?.lastState ?? {})
  const problem = problems.get(spec.name)
  const mayStart = latest?.state !== 'exited' || willRestart(pod, spec, latest)
  if (!problem || ending || latest?.state === 'running' || !mayStart) return { state, lastState }
  return {
    state: { waiting: { reason: problem.reason, message: problem.message } },
    lastState: state.terminated ? state : lastState,
  }
}

interface Attempts {
  readonly latest: Container | undefined
  readonly before: Container | undefined
  /** The status that was reported last. */
  readonly said: ContainerStatus | undefined
}

const containerStatus = (input: StatusInput, spec: ContainerSpec): ContainerStatus => {
  const { pod, containers, runtimeName, probes } = input
  const attempts = containers.filter(({ name }) => name === spec.name)
  const latest = attempts.at(-1)
  const said = previousOf(input, spec.name)
  const kept = !latest && said ? withoutRecords(input, said) : undefined
  if (kept) return kept
  const running = latest?.state === 'running'
  const started = running && probes.isStarted(latest.id, spec)
  const volumeMounts = mountStatuses(spec, latest?.recursiveReadOnly)
  return {
    name: spec.name,
    ...statesOf(input, spec, { latest, before: attempts.at(-2), said }),
    ready:
      isInit(pod, spec.name) && !isSidecar(spec)
        ? latest?.state === 'exited' && latest.exitCode === 0
        : started && probes.isReady(latest.id, spec),
    restartCount: latest?.attempt ?? said?.restartCount ?? 0,
    image: latest?.image ?? spec.image ?? '',
    imageID: latest?.imageId ?? '',
    ...(latest ? { containerID: `${runtimeName}://${latest.id}` } : {}),
    started,
    ...(latest && spec.resources?.requests ? { allocatedResources: spec.resources.requests } : {}),
    ...(latest
      ? { resources: (running && input.resize.actualOf(spec.name)) || (spec.resources ?? {}) }
      : {}),
    ...(volumeMounts.length > 0 ? { volumeMounts } : {}),
    ...(latest?.user ? { user: { linux: latest.user } } : {}),
  }
}

const previousOf = ({ previous }: StatusInput, name: string): ContainerStatus | undefined =>
  statusesOf(previous).find((status) => status.name === name)

const willRestart = (pod: Pod, spec: ContainerSpec, latest: Container): boolean =>
  latest.halted || restartsAfter(pod, spec, latest.exitCode)

const phaseOfStatuses = (
  input: StatusInput,
  inits: readonly ContainerStatus[],
  mains: readonly ContainerStatus[],
): PodPhase =>
  phaseOf({
    pod: input.pod,
    inits,
    mains,
    stopped: input.stopped,
    mayRestart: (spec, exitCode) =>
      input.containers.findLast(({ name }) => name === spec.name)?.halted ||
      restartsAfter(input.pod, spec, exitCode),
  })

/** A Pod that the kubelet ends has failed, unless it succeeds in spite of that (generateAPIPodStatus). */
const forcedVerdict = (
  { forcedEnd, stopped }: StatusInput,
  computed: PodPhase,
): Verdict | undefined =>
  forcedEnd && stopped && computed !== 'Succeeded'
    ? { phase: 'Failed', reason: forcedEnd.reason, message: forcedEnd.message }
    : undefined

/** An earlier kubelet has written a final phase: its reason stays. */
const keptVerdict = ({ previous }: StatusInput): Verdict | undefined => {
  const { phase, reason = '', message = '' } = previous
  if (!phase || !isTerminalPhase(phase) || (!reason && !message)) return undefined
  return { phase, reason, message }
}

/** The status of a Pod that was refused at admission. */
const refusedStatus = ({ pod, previous, now }: StatusInput, verdict: Verdict): PodStatus => {
  const { generation } = pod.metadata
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase: verdict.phase,
    reason: verdict.reason,
    message: verdict.message,
    conditions: conditionsOfOthers(pod),
    startTime: previous.startTime ?? formatTime(now),
    ...(previous.qosClass ? { qosClass: previous.qosClass } : {}),
  }
}

/** A runtime knows no address of a Pod in its host's network. */
export const addressesOf = (
  pod: Pod,
  sandbox: Sandbox | undefined,
  nodeAddress: string,
): readonly string[] => {
  if (!sandbox || sandbox.ips.length > 0 || !pod.spec.hostNetwork) return sandbox?.ips ?? []
  return [nodeAddress]
}

/** Ephemeral containers have no probes. */
const ephemeralStatus = (input: StatusInput, spec: ContainerSpec): ContainerStatus => {
  const { started: _, ...status } = containerStatus(input, spec)
  return { ...status, ready: false }
}

export const makePodStatus = (input: StatusInput): PodStatus => {
  const { pod, sandbox, nodeAddress, previous, now, stopped } = input
  if (input.verdict?.refused) return refusedStatus(input, input.verdict)
  const inits = (pod.spec.initContainers ?? []).map((spec) => containerStatus(input, spec))
  const mains = pod.spec.containers.map((spec) => containerStatus(input, spec))
  const ephemerals = (pod.spec.ephemeralContainers ?? []).map((spec) =>
    ephemeralStatus(input, spec),
  )
  // A final phase stays: no container may run after it.
  const settled = isTerminalPhase(previous.phase) ? previous.phase : undefined
  const computed = phaseOfStatuses(input, inits, mains)
  const verdict = input.verdict ?? forcedVerdict(input, computed) ?? keptVerdict(input)
  const wanted = settled ?? verdict?.phase ?? computed
  // A final phase is not reported before the last container has stopped (upstream: mergePodStatus).
  const early = !settled && !stopped && isTerminalPhase(wanted)
  const phase = early ? (previous.phase ?? 'Pending') : wanted
  const known = sandbox ? addressesOf(pod, sandbox, nodeAddress) : []
  const ips = known.length > 0 ? known : (previous.podIPs?.map(({ ip }) => ip) ?? [])
  const { generation } = pod.metadata
  const last = stopped ? locateAll(input, inits, mains) : { inits, mains }
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase: stopped && !isTerminalPhase(phase) ? 'Failed' : phase,
    conditions: makeConditions(input, wanted, [...inits, ...mains]),
    ...(verdict && !early ? { reason: verdict.reason, message: verdict.message } : {}),
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(ips.length > 0 ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {}),
    startTime: previous.startTime ?? formatTime(now),
    ...(inits.length > 0 ? { initContainerStatuses: withinShare(pod, last.inits) } : {}),
    containerStatuses: withinShare(pod, byName(last.mains)),
    ...(ephemerals.length > 0
      ? { ephemeralContainerStatuses: withinShare(pod, byName(ephemerals)) }
      : {}),
    ...(previous.qosClass ? { qosClass: previous.qosClass } : {}),
    ...podResources(
      pod,
      input.resize.actual(pod),
      previous.phase === 'Running' && !stopped ? previous.resources : undefined,
    ),
  }
}
