/** Ends all containers of a Pod: in parallel, but sidecars after the main ones and in reverse order. */
import { aggregate } from '#go/aggregate.js'
import { goQuote } from '#go/quote.js'
import { textOf } from './grpc/error-text.js'
import { type ContainerKill, type KillDeps, killContainer } from './kill-container.js'
import { findContainer, isEphemeral, isSidecar, type Pod } from './pod.js'
import type { Container } from './runtime.js'

export interface PodKill {
  /**
   * Settles when every container has ended or could not be: another try must not meet one that is still under way.
   * Rejects with what `endFailed` makes.
   */
  readonly done: Promise<void>
  shorten(graceSeconds: number): void
}

interface PodKillOptions {
  /** Undefined for containers of an unknown Pod. */
  readonly pod: Pod | undefined
  readonly containers: readonly Container[]
  readonly graceSeconds: number
  readonly halted?: boolean
  /** Containers that somebody is ending already: they are left alone, and sidecars wait for them, too. */
  readonly underWay?: ReadonlyMap<string, ContainerKill>
}

/** The containers that must be gone before this one gets its stop signal. */
const mustEndBefore = (pod: Pod, container: Container): ((other: Container) => boolean) => {
  const inits = pod.spec.initContainers ?? []
  const index = inits.findIndex(({ name }) => name === container.name)
  if (index < 0 || !isSidecar(inits[index]!)) return () => false
  return (other) => {
    if (isEphemeral(pod, other.name)) return false
    const otherIndex = inits.findIndex(({ name }) => name === other.name)
    return otherIndex < 0 || (otherIndex > index && isSidecar(inits[otherIndex]!))
  }
}

/** What upstream says of a step that failed on the way of a Pod's end (SyncResult). */
export const failureOf = (
  action: 'KillContainer' | 'KillPodSandbox',
  target: string,
  reason: unknown,
): string =>
  `failed to ${goQuote(action)} for ${goQuote(target)} with ${action}Error: ${goQuote(textOf(reason))}`

/** Its `errors` are texts. */
export const endFailed = (failures: readonly string[]): AggregateError =>
  new AggregateError(failures, aggregate(failures))

const allOver = async (
  kills: readonly ContainerKill[],
  containers: readonly Container[],
): Promise<void> => {
  const results = await Promise.allSettled(kills.map(({ done }) => done))
  const failures = results.flatMap((result, i) =>
    result.status === 'rejected'
      ? [failureOf('KillContainer', containers[i]!.name, result.reason)]
      : [],
  )
  if (failures.length > 0) throw endFailed(failures)
}

export const killPod = (deps: KillDeps, options: PodKillOptions): PodKill => {
  const { pod, containers, graceSeconds, halted, underWay = new Map() } = options
  const live = containers.filter(({ state }) => state !== 'exited')
  const ended = new Map(
    live.map((container) => {
      let end: () => void = () => {}
      const gone = new Promise<void>((resolve) => (end = resolve))
      return [container.id, { gone, end }] as const
    }),
  )
  const kills: ContainerKill[] = live.map((container) => {
    const before = pod ? live.filter(mustEndBefore(pod, container)) : []
    const kill: ContainerKill =
      underWay.get(container.id) ??
      killContainer(deps, {
        container,
        spec: pod ? findContainer(pod, container.name) : undefined,
        graceSeconds,
        // One that was made and not started has nothing to be told of (ConvertPodStatusToRunningPod).
        message: container.state === 'created' ? '' : `Stopping container ${container.name}`,
        ...(before.length > 0
          ? { turn: Promise.all(before.map(({ id }) => ended.get(id)!.gone)).then(() => {}) }
          : {}),
        ...(halted ? { halted } : {}),
      })
    // A failure is reported by `done` below.
    void kill.done.finally(() => ended.get(container.id)!.end()).catch(() => {})
    return kill
  })
  return {
    done: allOver(kills, live),
    shorten: (seconds) => {
      for (const kill of kills) kill.shorten(seconds)
    },
  }
}
