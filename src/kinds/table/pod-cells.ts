/** A pod's row: readiness, why it is not running, restarts. Rule: kubernetes pkg/printers/internalversion printPod. */
import { parseTime } from '#api/clock.js'
import { isConditionTrue } from '#api/conditions.js'
import type { KubeObject } from '#api/object.js'
import { zeroTime } from '#go/zero-time.js'
import { humanDuration } from '#registry/human-duration.js'
import { age, type Cells } from './format.js'

interface Terminated {
  exitCode?: number
  signal?: number
  reason?: string
  finishedAt?: string | null
}
interface ContainerStatus {
  name: string
  ready?: boolean
  started?: boolean
  restartCount?: number
  state?: { waiting?: { reason?: string }; running?: object; terminated?: Terminated }
  lastState?: { terminated?: Terminated }
}
interface Progress {
  reason: string
  restarts: number
  /** Milliseconds since the epoch of the last restart; of Go's zero time when unknown. */
  lastRestart: number
  ready: number
}

const unknown = Date.parse(zeroTime)

const noProgress = (reason: string): Progress => ({
  reason,
  restarts: 0,
  lastRestart: unknown,
  ready: 0,
})

const finishedAt = (status: ContainerStatus): number => {
  const text = status.lastState?.terminated?.finishedAt
  return text ? parseTime(text) : unknown
}
const endReason = ({ reason, signal, exitCode }: Terminated): string =>
  reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode ?? 0}`)
/** Any condition of the type counts here; elsewhere the first does. */
const isReady = (pod: KubeObject): boolean =>
  (pod.status?.conditions ?? []).some(
    (c: { type: string; status: string }) => c.type === 'Ready' && c.status === 'True',
  )

/** Undefined when this init container is done or serves as a sidecar, else what the pod waits for. */
const initReason = (
  status: ContainerStatus,
  isSidecar: boolean,
  position: string,
): string | undefined => {
  const { terminated, waiting } = status.state ?? {}
  if (terminated && !terminated.exitCode) return undefined
  if (isSidecar && status.started) return undefined
  if (terminated) return `Init:${endReason(terminated)}`
  if (waiting?.reason && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`
  return `Init:${position}`
}

/** Walks the init containers up to the first that is not done. */
const initProgress = (
  pod: KubeObject,
  progress: Progress,
  sidecars: ReadonlySet<string>,
): { initializing: boolean; sidecar: Progress } => {
  const sidecar = noProgress('')
  const statuses: ContainerStatus[] = pod.status?.initContainerStatuses ?? []
  const total = (pod.spec?.initContainers ?? []).length
  for (const [i, status] of statuses.entries()) {
    const isSidecar = sidecars.has(status.name)
    for (const counted of isSidecar ? [progress, sidecar] : [progress]) {
      counted.restarts += status.restartCount ?? 0
      counted.lastRestart = Math.max(counted.lastRestart, finishedAt(status))
    }
    const reason = initReason(status, isSidecar, `${i}/${total}`)
    if (reason !== undefined) {
      progress.reason = reason
      return { initializing: true, sidecar }
    }
    const hasSucceeded = status.state?.terminated && !status.state.terminated.exitCode
    if (isSidecar && status.ready && !hasSucceeded) progress.ready++
  }
  return { initializing: false, sidecar }
}

/** The reason of the first container that has one wins, so the walk goes backwards; one that failed hides those that completed. */
const containerProgress = (pod: KubeObject, progress: Progress): void => {
  const statuses: ContainerStatus[] = pod.status?.containerStatuses ?? []
  let hasRunning = false
  let failure = ''
  for (const status of [...statuses].reverse()) {
    progress.restarts += status.restartCount ?? 0
    progress.lastRestart = Math.max(progress.lastRestart, finishedAt(status))
    const { waiting, terminated, running } = status.state ?? {}
    if (waiting?.reason) progress.reason = waiting.reason
    else if (terminated) {
      progress.reason = endReason(terminated)
      if (terminated.exitCode) failure = progress.reason
    } else if (status.ready && running) {
      hasRunning = true
      progress.ready++
    }
  }
  if (progress.reason !== 'Completed') return
  if (hasRunning && isReady(pod)) progress.reason = 'Running'
  else if (failure !== '') progress.reason = failure
  else if (hasRunning) progress.reason = 'NotReady'
}

const podProgress = (pod: KubeObject, sidecars: ReadonlySet<string>): Progress => {
  const phase: string = pod.status?.phase ?? ''
  const gated = (pod.status?.conditions ?? []).some(
    (c: { type: string; reason?: string }) =>
      c.type === 'PodScheduled' && c.reason === 'SchedulingGated',
  )
  let progress = noProgress(gated ? 'SchedulingGated' : pod.status?.reason || phase)
  const { initializing, sidecar } = initProgress(pod, progress, sidecars)
  if (!initializing || isConditionTrue(pod, 'Initialized')) {
    progress = { ...progress, restarts: sidecar.restarts, lastRestart: sidecar.lastRestart }
    containerProgress(pod, progress)
  }
  if (pod.metadata.deletionTimestamp) {
    if (pod.status?.reason === 'NodeLost') progress.reason = 'Unknown'
    else if (phase !== 'Succeeded' && phase !== 'Failed') progress.reason = 'Terminating'
  }
  return progress
}

const readinessGates = (pod: KubeObject): string => {
  const gates: { conditionType: string }[] = pod.spec?.readinessGates ?? []
  if (gates.length === 0) return '<none>'
  const statuses = new Map<string, string>()
  // The first of a type counts.
  for (const { type, status } of pod.status?.conditions ?? [])
    if (!statuses.has(type)) statuses.set(type, status)
  const ready = gates.filter((gate) => statuses.get(gate.conditionType) === 'True').length
  return `${ready}/${gates.length}`
}

export const podCells: Cells = (pod, now) => {
  const initContainers: { name: string; restartPolicy?: string }[] = pod.spec?.initContainers ?? []
  const sidecars = new Set(
    initContainers.filter((c) => c.restartPolicy === 'Always').map((c) => c.name),
  )
  const { reason, restarts, lastRestart, ready } = podProgress(pod, sidecars)
  const total = (pod.spec?.containers ?? []).length + sidecars.size
  return [
    pod.metadata.name,
    `${ready}/${total}`,
    reason,
    restarts !== 0 && lastRestart > unknown
      ? `${restarts} (${humanDuration(now - lastRestart)} ago)`
      : String(restarts),
    age(pod, now),
    pod.status?.podIPs?.[0]?.ip || '<none>',
    pod.spec?.nodeName || '<none>',
    pod.status?.nominatedNodeName || '<none>',
    readinessGates(pod),
  ]
}

/** The conditions of a row, by which kubectl knows finished pods. */
export const podRowConditions = (pod: KubeObject): unknown[] | undefined => {
  const phase = pod.status?.phase
  const completed = (reason: string, message: string) => [
    { type: 'Completed', status: 'True', reason, message },
  ]
  if (phase === 'Succeeded') return completed('Succeeded', 'The pod has completed successfully.')
  return phase === 'Failed' ? completed('Failed', 'The pod failed.') : undefined
}
