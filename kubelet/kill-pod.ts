/** Ends all containers of a Pod: in parallel, but sidecars after the main ones and in reverse order. */
import { type ContainerKill, type KillDeps, killContainer } from './kill-container.js'
import { findContainer, isEphemeral, isSidecar, type Pod } from './pod.js'
import type { Container } from './runtime.js'

export interface PodKill {
  readonly done: Promise<void>
  shorten(graceSeconds: number): void
}

interface PodKillOptions {
  /** Undefined for containers of an unknown Pod. */
  readonly pod: Pod | undefined
  readonly containers: readonly Container[]
  readonly graceSeconds: number
  readonly halted?: boolean
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

export const killPod = (deps: KillDeps, options: PodKillOptions): PodKill => {
  const { pod, containers, graceSeconds, halted } = options
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
    const kill = killContainer(deps, {
      container,
      spec: pod ? findContainer(pod, container.name) : undefined,
      graceSeconds,
      message: `Stopping container ${container.name}`,
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
    done: Promise.all(kills.map(({ done }) => done)).then(() => {}),
    shorten: (seconds) => {
      for (const kill of kills) kill.shorten(seconds)
    },
  }
}
