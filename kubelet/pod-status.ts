/**
 * What a Pod's status says: computed from its spec and what the runtime and the probes report, never from what was
 * done. Upstream: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus, getPhase) and pkg/kubelet/status/generate.go.
 */
import { formatTime } from '#api/clock.js'
import {
  type ContainerSpec,
  type ContainerStateStatus,
  type ContainerStatus,
  isInit,
  isSidecar,
  isTerminalPhase,
  type Pod,
  type PodPhase,
  type PodStatus,
  restartsAfter,
} from './pod.js'
import { makeConditions } from './pod-conditions.js'
import type { Container, Sandbox } from './runtime.js'

export interface ContainerProblem {
  readonly reason: string
  readonly message: string
}

export interface StatusInput {
  readonly pod: Pod
  readonly runtimeName: string
  readonly sandbox: Sandbox | undefined
  /** Oldest first. */
  readonly containers: readonly Container[]
  /** Why a container that should run does not: CrashLoopBackOff and the like. */
  readonly problems: ReadonlyMap<string, ContainerProblem>
  readonly probes: {
    isReady(containerId: string, container: ContainerSpec): boolean
    isStarted(containerId: string, container: ContainerSpec): boolean
  }
  /** True once the Pod will never run again: its phase is then the final one as soon as all have stopped. */
  readonly ending: boolean
  /** Everything of the Pod has stopped: what is not known by now never will be. */
  readonly finished: boolean
  /** Set when the kubelet ended or refused the Pod. */
  readonly verdict: { phase: PodPhase; reason: string; message: string } | undefined
  readonly nodeAddress: string
  /** What was said last; the API's status for a kubelet that has just started. */
  readonly previous: PodStatus
  readonly now: number
}

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

const mountStatuses = (container: ContainerSpec) =>
  (container.volumeMounts ?? []).map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly ? { readOnly: true, recursiveReadOnly: 'Disabled' } : {}),
  }))

/** Of a container that is nowhere to be found and will not run again: upstream's words. */
const unlocated: ContainerStateStatus = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
}

/** What can be said of a container that the runtime does not know. */
const statusWithoutContainer = (
  input: StatusInput,
  spec: ContainerSpec,
): ContainerStatus | undefined => {
  const before = previousOf(input, spec.name)
  // How it ended was said already, by a kubelet whose records are gone.
  if (before?.state.terminated) return before
  if (
    !input.finished ||
    input.verdict ||
    (before && !before.containerID && isInit(input.pod, spec.name))
  ) {
    return undefined
  }
  const plain = { name: spec.name, image: spec.image ?? '', imageID: '', restartCount: 0 }
  return { ...plain, ...before, state: unlocated, lastState: {}, ready: false, started: false }
}

const containerStatus = (input: StatusInput, spec: ContainerSpec): ContainerStatus => {
  const { pod, containers, problems, runtimeName, probes, ending } = input
  const attempts = containers.filter(({ name }) => name === spec.name)
  const latest = attempts.at(-1)
  const without = latest ? undefined : statusWithoutContainer(input, spec)
  if (without) return without
  const before = attempts.at(-2)
  const mainWaits = (pod.spec.initContainers?.length ?? 0) > 0 && !isInit(pod, spec.name)
  let state = stateOf(latest, mainWaits ? 'PodInitializing' : 'ContainerCreating', runtimeName)
  let lastState: ContainerStateStatus =
    before?.state === 'exited' ? terminated(before, runtimeName) : {}
  const problem = problems.get(spec.name)
  const mayStart = latest?.state !== 'exited' || willRestart(pod, spec, latest)
  if (problem && !ending && latest?.state !== 'running' && mayStart) {
    if (state.terminated) lastState = state
    state = { waiting: { reason: problem.reason, message: problem.message } }
  }
  const running = latest?.state === 'running'
  const started = running && probes.isStarted(latest.id, spec)
  const volumeMounts = mountStatuses(spec)
  return {
    name: spec.name,
    state,
    lastState,
    ready:
      isInit(pod, spec.name) && !isSidecar(spec)
        ? latest?.state === 'exited' && latest.exitCode === 0
        : started && probes.isReady(latest!.id, spec),
    restartCount: latest?.attempt ?? previousOf(input, spec.name)?.restartCount ?? 0,
    image: latest?.image ?? spec.image ?? '',
    imageID: latest?.imageId ?? '',
    ...(latest ? { containerID: `${runtimeName}://${latest.id}` } : {}),
    started,
    ...(spec.resources?.requests ? { allocatedResources: spec.resources.requests } : {}),
    ...(running ? { resources: spec.resources ?? {} } : {}),
    ...(volumeMounts.length > 0 ? { volumeMounts } : {}),
  }
}

const previousOf = ({ previous }: StatusInput, name: string): ContainerStatus | undefined =>
  [...(previous.initContainerStatuses ?? []), ...(previous.containerStatuses ?? [])].find(
    (status) => status.name === name,
  )

const willRestart = (pod: Pod, spec: ContainerSpec, latest: Container): boolean =>
  latest.halted || restartsAfter(pod, spec, latest.exitCode)

/** Upstream's getPhase. */
const phaseOf = (
  { pod, ending }: StatusInput,
  inits: readonly ContainerStatus[],
  mains: readonly ContainerStatus[],
): PodPhase => {
  const counts = { waiting: 0, running: 0, stopped: 0, succeeded: 0 }
  for (const { state, lastState } of mains) {
    if (state.running) counts.running++
    else if (state.terminated) {
      counts.stopped++
      if (state.terminated.exitCode === 0) counts.succeeded++
    } else if (lastState.terminated) counts.stopped++
    else counts.waiting++
  }
  if (ending && counts.running === 0) {
    // Row 213: whatever restartPolicy says.
    return mains.length > 0 && counts.succeeded === mains.length ? 'Succeeded' : 'Failed'
  }
  const specs = pod.spec.initContainers ?? []
  const initFailed = inits.some(
    ({ state }, i) =>
      !isSidecar(specs[i]!) &&
      state.terminated !== undefined &&
      state.terminated.exitCode !== 0 &&
      pod.spec.restartPolicy === 'Never',
  )
  if (initFailed && counts.running === 0) return 'Failed'
  const begun = counts.running + counts.stopped > 0
  const initPending = inits.some(({ state, ready, started }, i) =>
    isSidecar(specs[i]!) ? !started && !begun : !ready && !state.terminated,
  )
  if ((initPending && !begun) || counts.waiting > 0) return 'Pending'
  if (counts.running > 0) return 'Running'
  if (counts.stopped === 0) return 'Pending'
  const policy = pod.spec.restartPolicy ?? 'Always'
  if (policy === 'Always') return 'Running'
  if (counts.stopped === counts.succeeded) return 'Succeeded'
  return policy === 'Never' ? 'Failed' : 'Running'
}

export const makePodStatus = (input: StatusInput): PodStatus => {
  const { pod, sandbox, verdict, nodeAddress, previous, now } = input
  const inits = (pod.spec.initContainers ?? []).map((spec) => containerStatus(input, spec))
  const mains = pod.spec.containers.map((spec) => containerStatus(input, spec))
  // A phase that is final stays: what runs after it would belong to nobody.
  const settled = isTerminalPhase(previous.phase) ? previous.phase! : undefined
  const stillRunning = [...inits, ...mains].some(({ state }) => state.running)
  const phase = settled ?? (verdict && !stillRunning ? verdict.phase : phaseOf(input, inits, mains))
  const ips = sandbox?.ips ?? previous.podIPs?.map(({ ip }) => ip) ?? []
  const { generation } = pod.metadata
  // A Pod that was refused has no containers to speak of.
  const refused = verdict !== undefined && input.containers.length === 0
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    conditions: makeConditions(input, phase, [...inits, ...mains]),
    ...(verdict ? { reason: verdict.reason, message: verdict.message } : {}),
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(ips.length > 0 ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {}),
    startTime: previous.startTime ?? formatTime(now),
    ...(inits.length > 0 && !refused ? { initContainerStatuses: inits } : {}),
    ...(refused ? {} : { containerStatuses: mains }),
    ...(previous.qosClass ? { qosClass: previous.qosClass } : {}),
  }
}
