/** What happens to StatefulSets in a soak, drawn by weight: faults of processes, and users. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PersistedObject } from '#api/object.js'
import { isPodTerminal, type Pod } from '#client/pod.js'
import type { Random } from '#client/random.js'
import { resources } from '#client/resources.js'
import { eventually } from '../../eventually.js'
import { type ProcessName, processNames } from '../processes.js'
import type { World } from '../world.js'

const replicas = 3
/** Whoever has to do a step may be down for long, or the machine busy. */
const patienceMs = 240_000
/** `db` obeys SIGTERM and goes one by one; `par` ignores it and goes all at once. */
const sets = {
  db: { onTerm: 'sleep 0.3; exit 0', podManagementPolicy: 'OrderedReady' },
  par: { onTerm: ':', podManagementPolicy: 'Parallel' },
} as const
type SetName = keyof typeof sets
const setNames = Object.keys(sets) as SetName[]

interface Choice {
  readonly weight: number
  act(): Promise<string>
}

export class Disturbances {
  readonly #world: World
  readonly #random: Random
  readonly #print: (line: string) => void
  readonly #counts = new Map<string, number>()
  /** A process has one trouble at a time. */
  readonly #inTrouble = new Set<ProcessName>()

  /** `planted`: users use force on Pods that run, which promises twins; for a check that the checker sees them. */
  constructor(
    world: World,
    { random, print, planted }: { random: Random; print: (line: string) => void; planted: boolean },
  ) {
    this.#world = world
    if (planted) this.#users.push({ weight: 12, act: () => this.#force() })
    this.#random = random
    this.#print = print
  }

  async makeSets(): Promise<void> {
    for (const name of setNames) await this.#makeSet(name)
  }
  async removeSets(): Promise<void> {
    for (const name of setNames) await this.#world.delete(resources.statefulSets, name)
  }

  summary(): string {
    return [...this.#counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, n]) => `${what} ${n}`)
      .join(', ')
  }

  /** Both sets are whole again; throws when they do not get there. */
  async settle(timeoutMs: number): Promise<void> {
    for (const name of setNames) await this.#scale(name, replicas)
    const members = () =>
      setNames.flatMap((name) => Array.from({ length: replicas }, (_, i) => `${name}-${i}`))
    const waitsLong = (pod: Pod) =>
      pod.metadata.deletionTimestamp === undefined && JSON.stringify(pod).includes('CrashLoop')
    const whole = async () => {
      for (const pod of this.#world.pods())
        if (waitsLong(pod)) await this.#world.delete(resources.pods, pod.metadata.name)
      return members().every((name) => this.#world.isReady(name))
    }
    await eventually('both sets', whole, timeoutMs).catch((error) => {
      const state = this.#world
        .pods()
        .map(({ metadata, spec, status }) =>
          [metadata.name, spec.nodeName, status?.phase, metadata.deletionTimestamp].join(' '),
        )
      throw new Error(`${error.message}; there are ${state.join(', ')}`)
    })
  }

  /** Both sorts of trouble at once, for so long. */
  async run(ms: number): Promise<void> {
    const end = performance.now() + ms
    const loop = async (choices: readonly Choice[], pauseMs: number): Promise<void> => {
      while (performance.now() < end) {
        await sleep(pauseMs * (0.2 + 1.6 * this.#random()))
        const what = await this.#draw(choices).act()
        const [kind] = what.split(' ', 1)
        this.#counts.set(kind!, (this.#counts.get(kind!) ?? 0) + 1)
        this.#print(what)
      }
    }
    await Promise.all([loop(this.#faults, 4_000), loop(this.#users, 2_500)])
  }

  #draw<T extends { weight: number }>(choices: readonly T[]): T {
    let left = this.#random() * choices.reduce((sum, { weight }) => sum + weight, 0)
    return choices.find(({ weight }) => (left -= weight) < 0) ?? choices[0]!
  }
  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)]
  }
  #any<T>(list: readonly T[]): T {
    return this.#pick(list)!
  }

  // ---- processes

  readonly #faults: readonly Choice[] = [
    { weight: 8, act: () => this.#withProcess(processNames, (name) => this.#kill(name)) },
    { weight: 3, act: () => this.#withProcess(processNames, (name) => this.#stop(name)) },
    { weight: 1, act: () => this.#killAll() },
    { weight: 1, act: () => this.#withProcess(['lost'], () => this.#loseNode()) },
  ]

  async #withProcess(
    names: readonly ProcessName[],
    trouble: (name: ProcessName) => Promise<string>,
  ): Promise<string> {
    const name = this.#any(names)
    if (this.#inTrouble.has(name)) return `skipped ${name}`
    this.#inTrouble.add(name)
    try {
      return await trouble(name)
    } finally {
      this.#inTrouble.delete(name)
    }
  }

  async #kill(name: ProcessName): Promise<string> {
    const { cluster } = this.#world
    await cluster.end(name)
    const awayMs = 3_000 * this.#random() ** 2
    await sleep(awayMs)
    cluster.launch(name)
    return `killed ${name} for ${Math.round(awayMs)} ms`
  }

  /** As if its machine or its network hung: longer than its Lease, sometimes. */
  async #stop(name: ProcessName): Promise<string> {
    const { cluster } = this.#world
    const pid = cluster.pidOf(name)
    const ms = 500 + 9_500 * this.#random() ** 2
    process.kill(pid, 'SIGSTOP')
    await sleep(ms)
    process.kill(pid, 'SIGCONT')
    return `stopped ${name} for ${Math.round(ms)} ms`
  }

  async #killAll(): Promise<string> {
    const { cluster } = this.#world
    const names = processNames.filter((name) => !this.#inTrouble.has(name))
    for (const name of names) this.#inTrouble.add(name)
    await Promise.all(names.map((name) => cluster.end(name)))
    for (const name of names) {
      cluster.launch(name)
      this.#inTrouble.delete(name)
    }
    return `killed-all ${names.length} processes at once`
  }

  /**
   * The power of a node goes: its kubelet and everything on it. Only then may somebody who knows it use force, and
   * the sets go on elsewhere before the node is back.
   */
  async #loseNode(): Promise<string> {
    const { cluster } = this.#world
    await cluster.end('lost')
    const here = () => this.#world.pods().filter(({ spec }) => spec.nodeName === 'node-lost')
    const live = () => {
      const uids = new Set(here().map(({ metadata }) => metadata.uid))
      return this.#world.processes().filter(({ uid }) => uids.has(uid))
    }
    await eventually(
      'the node dark',
      () => {
        for (const { pid } of live()) this.#killProcess(pid)
        return live().length === 0
      },
      patienceMs,
    )
    const forced = here()
    for (const { metadata } of forced)
      await this.#world.delete(resources.pods, metadata.name, { gracePeriodSeconds: 0 })
    await sleep(4_000 * this.#random())
    cluster.launch('lost')
    return `forced ${forced.length} Pods of a node without power`
  }

  #killProcess(pid: number): void {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }

  // ---- users

  readonly #users: Choice[] = [
    { weight: 6, act: () => this.#deletePod() },
    { weight: 2, act: () => this.#shorten() },
    { weight: 2, act: () => this.#rescale() },
    { weight: 1, act: () => this.#rollOut() },
    { weight: 1, act: () => this.#crash() },
    { weight: 1, act: () => this.#orphan() },
  ]

  async #deletePod(): Promise<string> {
    const pod = this.#pick(this.#world.pods())
    if (!pod) return 'skipped a delete'
    const gracePeriodSeconds = this.#any([1, 2, 5, undefined])
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }
    await this.#world.delete(resources.pods, pod.metadata.name, options)
    return `deleted ${pod.metadata.name} with ${gracePeriodSeconds ?? 'its own'} s`
  }

  async #shorten(): Promise<string> {
    const pod = this.#pick(this.#world.pods().filter((p) => !isPodTerminal(p)))
    if (!pod) return 'skipped a shorter delete'
    await this.#world.delete(resources.pods, pod.metadata.name, { gracePeriodSeconds: 60 })
    await sleep(500 * this.#random())
    await this.#world.delete(resources.pods, pod.metadata.name, { gracePeriodSeconds: 1 })
    return `shortened ${pod.metadata.name}`
  }

  async #force(): Promise<string> {
    const pod = this.#pick(this.#world.pods())
    if (!pod) return 'skipped force'
    await this.#world.delete(resources.pods, pod.metadata.name, { gracePeriodSeconds: 0 })
    return `planted force on ${pod.metadata.name}`
  }

  async #rescale(): Promise<string> {
    const name = this.#any(setNames)
    const to = Math.floor((replicas + 1) * this.#random())
    await this.#scale(name, to)
    return `scaled ${name} to ${to}`
  }
  #scale(name: SetName, to: number): Promise<unknown> {
    return this.#world.patch(resources.statefulSets, name, { spec: { replicas: to } })
  }

  async #rollOut(): Promise<string> {
    const name = this.#any(setNames)
    const version = String(Math.floor(1e6 * this.#random()))
    await this.#world.patch(resources.statefulSets, name, {
      spec: { template: { metadata: { annotations: { version } } } },
    })
    return `rolled-out ${name}`
  }

  /** Its main process ends by itself: the kubelet starts it again, under the same Pod. */
  async #crash(): Promise<string> {
    const victim = this.#pick(this.#world.processes())
    if (!victim) return 'skipped a crash'
    this.#killProcess(victim.pid)
    return `crashed a process of ${victim.pod}`
  }

  /** Its Pods stay, and the set that comes after takes them in. */
  async #orphan(): Promise<string> {
    const name = this.#any(setNames)
    const { uid } = this.#world.set(name)?.metadata ?? {}
    await this.#world.delete(resources.statefulSets, name, { propagationPolicy: 'Orphan' })
    const gone = () => this.#world.set(name)?.metadata.uid !== uid
    await eventually(`the set ${name} gone`, gone, patienceMs)
    await this.#makeSet(name)
    return `orphaned the Pods of ${name}`
  }

  #makeSet(name: SetName): Promise<unknown> {
    const { onTerm, podManagementPolicy } = sets[name]
    const toleration = (key: string) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 1,
    })
    const spec = this.#world.podSpec(onTerm, {
      terminationGracePeriodSeconds: 3,
      tolerations: [toleration('unreachable'), toleration('not-ready')],
    })
    const set: Pick<PersistedObject, 'spec'> = {
      spec: {
        replicas,
        podManagementPolicy,
        serviceName: name,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec },
      },
    }
    return this.#world.create(resources.statefulSets, name, set)
  }
}
