/** What a Pod's status is computed from: its spec and what the runtime and the probes report. */
import type { ForcedEnd } from '../forced-end.js'
import type { ContainerSpec, Pod, PodPhase, PodStatus } from '../pod.js'
import type { PodResize } from '../resize.js'
import type { Container, Sandbox } from '../runtime.js'

export interface ContainerProblem {
  readonly reason: string
  readonly message: string
}

/** Why the kubelet itself ends a Pod, or never starts it. */
export interface Verdict {
  readonly phase: PodPhase
  readonly reason: string
  readonly message: string
  /** It was not admitted. */
  readonly refused?: true
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
  readonly resize: Pick<PodResize, 'conditions' | 'actualOf' | 'actual'>
  /** True once the Pod will never run again: its phase is then the final one as soon as all have stopped. */
  readonly ending: boolean
  /**
   * No container of it runs any more, and none will: what is not known by now never will be. Drivers may still hold what
   * they made for it, which changes nothing of this (SyncTerminatedPod).
   */
  readonly stopped: boolean
  readonly forcedEnd: ForcedEnd | undefined
  /** Set when the kubelet ended or refused the Pod. */
  readonly verdict: Verdict | undefined
  readonly nodeAddress: string
  /** The status that was reported last; for a kubelet that has just started, the API's. */
  readonly previous: PodStatus
  readonly now: number
}
