/**
 * Resources that change while a Pod runs. What its spec asks for is allocated once there is room; what is allocated is
 * given to its containers, which restart for it if they say so. A restarted kubelet goes on from what the status says
 * that the containers have. Upstream: pkg/kubelet/allocation, computePodResizeAction (pkg/kubelet/kuberuntime).
 */
import { formatTime } from '#api/clock.js'
import type { Amounts } from '#client/pod.js'
import { semanticEqual } from '#json/object.js'
import {
  type ContainerSpec,
  isSidecar,
  type Pod,
  type PodCondition,
  type Resources,
  statusesOf,
} from './pod.js'
import { amountOf } from './resource-amount.js'
import { withResources } from './status/pod-resources.js'

const lastWords = ['reason', 'message', 'observedGeneration'] as const
type Finding = Pick<PodCondition, (typeof lastWords)[number]>

/** Of one container, in the kernel's terms. */
type ResizeNeed = 'none' | 'update' | 'restart'

const resizedNames = ['cpu', 'memory'] as const
const lists = ['requests', 'limits'] as const

const resizable = ({ spec }: Pod): ContainerSpec[] => [
  ...(spec.initContainers ?? []).filter(isSidecar),
  ...spec.containers,
]

const amountIn = (resources: Resources | undefined, list: (typeof lists)[number], name: string) =>
  amountOf(resources?.[list]?.[name] ?? 0)

const changedNames = (next: Resources | undefined, previous: Resources | undefined) =>
  resizedNames.filter((name) =>
    lists.some((list) => amountIn(next, list, name) !== amountIn(previous, list, name)),
  )

/** Where a container has no limit, that of its Pod counts. */
const effective = (own: Resources = {}, ofPod: Resources = {}): Resources => ({
  ...own,
  limits: { ...ofPod.limits, ...own.limits },
})

/** The resources of the whole Pod in its status, as far as its spec has them; they include overhead. */
const saidOfPod = ({ spec, status }: Pod): Resources | undefined => {
  const { allocatedResources, resources } = status ?? {}
  if (!spec.resources || !allocatedResources || !resources) return undefined
  const pick = (names: Amounts | undefined, from: Amounts | undefined): Amounts =>
    Object.fromEntries(Object.keys(names ?? {}).map((name) => [name, from?.[name] ?? '0']))
  const { requests, limits } = spec.resources
  const { overhead = {} } = spec
  const isBare = Object.keys(requests ?? {}).every((name) => overhead[name] === undefined)
  return {
    ...(requests ? { requests: isBare ? pick(requests, allocatedResources) : requests } : {}),
    ...(limits ? { limits: isBare ? pick(limits, resources.limits) : limits } : {}),
  }
}

/** What events say of it, as upstream's do. */
const summaryOf = ({ metadata, spec }: Pod, error?: string): string => {
  const rows = (containers: readonly ContainerSpec[]) =>
    containers.map(({ name, resources = {} }) => ({ name, resources }))
  const inits = spec.initContainers ?? []
  return JSON.stringify({
    ...(inits.length > 0 ? { initContainers: rows(inits) } : {}),
    containers: rows(spec.containers),
    generation: metadata.generation ?? 0,
    ...(error ? { error } : {}),
  })
}

interface ResizeDeps {
  readonly now: () => number
  /** Why the node has no room for the Pod; undefined when it has. */
  refusal(pod: Pod): string | undefined
  event(type: 'Normal' | 'Warning', reason: string, message: string): void
}

export class PodResize {
  readonly #deps: ResizeDeps
  readonly #allocated = new Map<string, Resources>()
  /** What its containers have, if that differs from what is allocated. */
  readonly #actual = new Map<string, Resources>()
  #allocatedToPod: Resources | undefined
  #actualOfPod: Resources | undefined
  #pending: PodCondition | undefined
  #inProgress: PodCondition | undefined

  /** `runs`: containers of the Pod were found, which have what its status says. */
  constructor(deps: ResizeDeps, pod: Pod, runs: boolean) {
    this.#deps = deps
    const said = new Map(statusesOf(pod.status ?? {}).map((one) => [one.name, one.resources]))
    for (const { name, resources = {} } of resizable(pod))
      this.#allocated.set(name, (runs && (said.get(name) as Resources)) || resources)
    this.#allocatedToPod = (runs && saidOfPod(pod)) || pod.spec.resources
  }

  get isPending(): boolean {
    return this.#pending !== undefined
  }

  get conditions(): readonly PodCondition[] {
    return [this.#pending, this.#inProgress].filter((one) => one !== undefined)
  }

  /** The Pod as its containers are to be made. */
  apply(asked: Pod): Pod {
    if (!this.#differs(asked)) return asked
    return withResources(asked, this.#allocatedToPod, ({ name }) => this.#allocated.get(name))
  }

  /** The Pod with the resources that it has, if they differ from those that it is allocated. */
  actual(pod: Pod): Pod {
    if (!this.#inProgress) return pod
    return withResources(pod, this.#actualOfPod, ({ name }) => this.#actual.get(name))
  }

  /** Allocates what is asked for if there is room; yields whether it did. */
  consider(asked: Pod): boolean {
    if (!this.#differs(asked)) {
      this.#pending = undefined
      return false
    }
    const observedGeneration = asked.metadata.generation ?? 0
    const message = this.#deps.refusal(asked)
    if (message !== undefined) {
      const before = this.#pending
      const finding = { reason: 'Deferred', message, observedGeneration }
      this.#pending = this.#condition('PodResizePending', before, finding)
      if (before?.observedGeneration !== observedGeneration)
        this.#deps.event(
          'Warning',
          'ResizeDeferred',
          `Pod resize Deferred: ${summaryOf(asked, message)}`,
        )
      return false
    }
    this.#pending = undefined
    for (const { name, resources = {} } of resizable(asked)) {
      if (!this.#actual.has(name)) this.#actual.set(name, this.#allocated.get(name) ?? {})
      this.#allocated.set(name, resources)
    }
    this.#actualOfPod ??= this.#allocatedToPod
    this.#allocatedToPod = asked.spec.resources
    this.#inProgress = this.#condition('PodResizeInProgress', undefined, { observedGeneration })
    this.#deps.event('Normal', 'ResizeStarted', `Pod resize started: ${summaryOf(asked)}`)
    return true
  }

  /** What a running container has, if that differs from what is allocated to it. */
  actualOf(name: string): Resources | undefined {
    return this.#actual.get(name)
  }

  needOf({ name, resizePolicy = [] }: ContainerSpec): ResizeNeed {
    if (!this.#actual.has(name)) return 'none'
    const [next, had] = this.#ends(name)
    const changed = changedNames(this.#allocated.get(name), this.#actual.get(name))
    const restarts = resizePolicy.some(
      ({ resourceName, restartPolicy }) =>
        restartPolicy === 'RestartContainer' && changed.some((one) => one === resourceName),
    )
    if (restarts) return 'restart'
    return changedNames(next, had).length === 0 ? 'none' : 'update'
  }

  /** What counts for a container: after the change, and before. */
  #ends(name: string): readonly [Resources, Resources] {
    const allocated = this.#allocated.get(name)
    return [
      effective(allocated, this.#allocatedToPod),
      effective(this.#actual.get(name) ?? allocated, this.#actualOfPod ?? this.#allocatedToPod),
    ]
  }

  /** The new memory limit in bytes, if it is lower than the one that the container has. */
  lowerLimitOf(name: string): number | undefined {
    const [next, had] = this.#ends(name).map((one) => amountIn(one, 'limits', 'memory')) as [
      number,
      number,
    ]
    return next > 0 && (had === 0 || next < had) ? next : undefined
  }

  /** The container has what is allocated to it. */
  done(name: string): void {
    this.#actual.delete(name)
  }

  failed(pod: Pod, message: string): void {
    const before = this.#inProgress
    if (!before || before.message === message) return
    const { observedGeneration = 0 } = before
    const finding = { reason: 'Error', message, observedGeneration }
    this.#inProgress = this.#condition('PodResizeInProgress', before, finding)
    this.#deps.event('Warning', 'ResizeError', `Pod resize error: ${summaryOf(pod, message)}`)
  }

  /** A resize is over when all running containers have been looked at. */
  settle(pod: Pod, running: readonly string[]): void {
    if (!this.#inProgress || running.some((name) => this.#actual.has(name))) return
    this.#actual.clear()
    this.#actualOfPod = undefined
    this.#inProgress = undefined
    this.#deps.event('Normal', 'ResizeCompleted', `Pod resize completed: ${summaryOf(pod)}`)
  }

  #differs(asked: Pod): boolean {
    return (
      !semanticEqual(asked.spec.resources ?? {}, this.#allocatedToPod ?? {}) ||
      resizable(asked).some(
        ({ name, resources = {} }) => !semanticEqual(resources, this.#allocated.get(name) ?? {}),
      )
    )
  }

  #condition(type: string, before: PodCondition | undefined, finding: Finding): PodCondition {
    const isSaid = lastWords.every((field) => before?.[field] === finding[field])
    if (before && isSaid) return before
    const now = formatTime(this.#deps.now())
    const since = before?.reason === finding.reason ? before?.lastTransitionTime : undefined
    return {
      type,
      status: 'True',
      lastProbeTime: now,
      lastTransitionTime: since ?? now,
      ...finding,
    }
  }
}
