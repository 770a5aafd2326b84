/**
 * What a Pod that should run needs next: which containers to start, which to end. Pure; upstream's computePodActions
 * (pkg/kubelet/kuberuntime/kuberuntime_manager.go).
 */
import {
  type ContainerSpec,
  findContainer,
  formatPod,
  isSidecar,
  type Pod,
  type Probe,
  restartsAfter,
} from './pod.js'
import { asksForAll } from './restart-all.js'
import { formatDuration } from './restart-backoff.js'
import type { Container } from './runtime.js'
import type { ContainerProblem } from './status/status-input.js'

interface ActionInput {
  readonly pod: Pod
  readonly containers: readonly Container[]
  hashOf(spec: ContainerSpec): string
  failedProbe(containerId: string): { kind: string; probe: Probe } | undefined
  /** Was ended to be started again, and no pass has run since. */
  wasKilled(containerId: string): boolean
  isStarted(containerId: string, spec: ContainerSpec): boolean
  /** Was ended to be replaced, whatever the Pod's restartPolicy. */
  isReplaced(containerId: string): boolean
  /** Must restart to get its new resources. */
  restartsToResize(spec: ContainerSpec): boolean
  /** 0, or more if the status knows of earlier runs whose records are gone. */
  firstAttempt(name: string): number
  /** See RestartBackoff.next. */
  backoff(spec: ContainerSpec, finishedAt: number): { waitMs: number; delayMs: number }
}

export interface PodActions {
  readonly start: { spec: ContainerSpec; attempt: number }[]
  readonly kill: { container: Container; spec: ContainerSpec; message: string; probe?: Probe }[]
  readonly problems: Map<string, ContainerProblem>
  /** Run another pass after this time. */
  waitMs: number | undefined
  /** No main container runs on or will start again, so the Pod has to end. */
  nothingStays: boolean
}

type Verdict = 'fine' | 'busy'

const latestOf = (containers: readonly Container[], name: string): Container | undefined =>
  containers.findLast((container) => container.name === name)

const runBefore = ({ containers }: ActionInput, { name, attempt }: Container) =>
  containers.findLast((container) => container.name === name && container.attempt < attempt)

/** A container that should run: 'fine' while it does and has started, 'busy' while something is under way. */
const keepRunning = (input: ActionInput, actions: PodActions, spec: ContainerSpec): Verdict => {
  const { pod, containers } = input
  const latest = latestOf(containers, spec.name)
  if (!latest) {
    actions.start.push({ spec, attempt: input.firstAttempt(spec.name) })
    return 'busy'
  }
  // Its kubelet was killed before it could start it, or the runtime would not. Nothing is known of it, so it is made anew.
  if (latest.state === 'created') {
    actions.start.push({ spec, attempt: latest.attempt + 1 })
    return 'busy'
  }
  if (latest.state === 'running') {
    const failed = input.failedProbe(latest.id)
    if (failed) {
      const message = probeMessage(pod, spec, failed.kind)
      actions.kill.push({ container: latest, spec, message, probe: failed.probe })
      return 'busy'
    }
    if (latest.hash !== input.hashOf(spec)) {
      const message = `Container ${spec.name} definition changed, will be restarted`
      actions.kill.push({ container: latest, spec, message })
      return 'busy'
    }
    if (input.restartsToResize(spec)) {
      const message = `Container ${spec.name} resize requires restart`
      actions.kill.push({ container: latest, spec, message })
      return 'busy'
    }
    return input.isStarted(latest.id, spec) ? 'fine' : 'busy'
  }
  const isReplaced = latest.halted || input.isReplaced(latest.id)
  if (!isReplaced && !restartsAfter(pod, spec, latest.exitCode)) return 'fine'
  restart(input, actions, spec, latest)
  return 'busy'
}

const restartsOnFailure = ({ spec }: Pod, { restartPolicy = spec.restartPolicy }: ContainerSpec) =>
  restartPolicy !== 'Never'

const probeMessage = (pod: Pod, spec: ContainerSpec, kind: string): string => {
  if (isSidecar(spec)) return `Init container ${spec.name} failed ${kind} probe`
  const then = restartsOnFailure(pod, spec) ? ', will be restarted' : ''
  return `Container ${spec.name} failed ${kind} probe${then}`
}

const restart = (
  input: ActionInput,
  actions: PodActions,
  spec: ContainerSpec,
  latest: Container,
): void => {
  // Upstream ends a container and starts it again in one pass, so its back-off is that of the end before.
  const ended = input.wasKilled(latest.id) ? runBefore(input, latest) : latest
  const { waitMs, delayMs } =
    latest.halted || !ended ? { waitMs: 0, delayMs: 0 } : input.backoff(spec, ended.finishedAt)
  if (waitMs <= 0) {
    actions.start.push({ spec, attempt: latest.attempt + 1 })
    return
  }
  actions.problems.set(spec.name, {
    reason: 'CrashLoopBackOff',
    message: `back-off ${formatDuration(delayMs)} restarting failed container=${spec.name} pod=${formatPod(input.pod)}`,
  })
  actions.waitMs = Math.min(actions.waitMs ?? waitMs, waitMs)
}

/** True once every init container has done its part. */
const initialize = (input: ActionInput, actions: PodActions): boolean => {
  const { pod, containers } = input
  for (const spec of pod.spec.initContainers ?? []) {
    if (isSidecar(spec)) {
      if (keepRunning(input, actions, spec) === 'busy') return false
      continue
    }
    const latest = latestOf(containers, spec.name)
    if (latest?.state === 'exited' && latest.exitCode === 0) continue
    keepRunning(input, actions, spec)
    return false
  }
  return true
}

export const computeActions = (input: ActionInput): PodActions => {
  const { pod, containers } = input
  const actions: PodActions = {
    start: [],
    kill: [],
    problems: new Map(),
    waitMs: undefined,
    nothingStays: false,
  }
  // Ephemeral containers need not wait for the Pod to be initialized.
  for (const spec of pod.spec.ephemeralContainers ?? []) {
    const attempt = input.firstAttempt(spec.name)
    if (!latestOf(containers, spec.name) && attempt === 0) actions.start.push({ spec, attempt })
  }
  const begun = pod.spec.containers.some(({ name }) => latestOf(containers, name) !== undefined)
  if (begun) {
    for (const spec of pod.spec.initContainers ?? []) {
      if (isSidecar(spec)) keepRunning(input, actions, spec)
    }
  } else if (!initialize(input, actions)) return actions
  for (const spec of pod.spec.containers) keepRunning(input, actions, spec)
  if (pod.spec.containers.some((spec) => stays(input, spec))) return actions
  return { ...actions, start: [], kill: [], nothingStays: true }
}

/** Whether a main container goes on, or starts again. */
const stays = (
  { pod, containers, failedProbe, isReplaced }: ActionInput,
  spec: ContainerSpec,
): boolean => {
  const latest = latestOf(containers, spec.name)
  if (latest?.state !== 'exited')
    return !latest || !failedProbe(latest.id) || restartsOnFailure(pod, spec)
  return latest.halted || isReplaced(latest.id) || restartsAfter(pod, spec, latest.exitCode)
}

/** True when nothing of the Pod will run again, so that it can be wound up. */
export const hasEnded = (
  pod: Pod,
  containers: readonly Container[],
  isReplaced: (containerId: string) => boolean,
): boolean => {
  // While the containers are removed, and this one last, all others may have ended.
  if (containers.some((container) => asksForAll(pod, container))) return false
  const settled = (spec: ContainerSpec): boolean => {
    const latest = latestOf(containers, spec.name)
    return (
      latest?.state === 'exited' &&
      !latest.halted &&
      !isReplaced(latest.id) &&
      !restartsAfter(pod, spec, latest.exitCode)
    )
  }
  if (pod.spec.containers.every(settled)) return true
  return (pod.spec.initContainers ?? []).some((spec) => {
    const latest = latestOf(containers, spec.name)
    return !isSidecar(spec) && settled(spec) && latest!.exitCode !== 0
  })
}

/** Containers of a Pod that run, with what the Pod says of them. */
export const runningContainers = (
  pod: Pod,
  containers: readonly Container[],
): (readonly [Container, ContainerSpec])[] =>
  containers
    .filter(({ state }) => state === 'running')
    .flatMap((container) => {
      const spec = findContainer(pod, container.name)
      return spec ? [[container, spec] as const] : []
    })
