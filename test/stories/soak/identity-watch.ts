/**
 * Looks on while a soak goes: at most one process of an identity, always. Three eyes: the table of processes several
 * times a second, a look at it at each Pod's creation and end, and a lock of the kernel's that every Pod's main
 * process takes (World.container), which lets no overlap through however short.
 */
import type { Pod } from '#client/pod.js'
import type { World } from '../world.js'

const lookMs = 250

export class IdentityWatch {
  readonly #world: World
  readonly #print: (line: string) => void
  readonly #seen = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #twins = 0
  looks = 0
  readonly wrong: string[] = []

  constructor(world: World, print: (line: string) => void) {
    this.#world = world
    this.#print = print
  }

  start(): void {
    this.#world.onPod = (event, pod) => {
      if (event === 'added') this.#created(pod)
      else this.#gone(pod)
    }
    this.#timer = setInterval(() => this.#look(), lookMs)
  }
  stop(): void {
    clearInterval(this.#timer)
    this.#world.onPod = () => {}
    this.#look()
  }

  #complain(problem: string): void {
    if (this.#seen.has(problem)) return
    this.#seen.add(problem)
    this.wrong.push(problem)
    this.#print(`WRONG  ${problem}`)
  }

  /** By name, the uids that have a process. */
  #uids(): Map<string, Set<string>> {
    const byName = new Map<string, Set<string>>()
    for (const { pod, uid } of this.#world.processes()) {
      const uids = byName.get(pod) ?? new Set()
      byName.set(pod, uids.add(uid))
    }
    return byName
  }

  #look(): void {
    this.looks++
    for (const [name, uids] of this.#uids())
      if (uids.size > 1) this.#complain(`${name} runs as ${[...uids].join(' and ')}`)
    const twins = this.#world.record('two')
    for (const name of twins.slice(this.#twins)) this.#complain(`${name} met its twin's lock`)
    this.#twins = twins.length
  }

  /** Who is made anew must not meet the one before. */
  #created({ metadata }: Pod): void {
    const name = `${metadata.namespace}/${metadata.name}`
    for (const uid of this.#uids().get(name) ?? [])
      if (uid !== metadata.uid)
        this.#complain(`${name} was made as ${metadata.uid} while ${uid} ran`)
  }

  /** Nobody may be told that a Pod is gone before it is. */
  #gone({ metadata }: Pod): void {
    const name = `${metadata.namespace}/${metadata.name}`
    if (this.#uids().get(name)?.has(metadata.uid))
      this.#complain(`${name} ${metadata.uid} was forgotten while it ran`)
  }
}
