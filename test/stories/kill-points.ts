/** Plays stories while processes are killed at their steps and started again, and looks at what is left afterwards. */
import { setTimeout as sleep } from 'node:timers/promises'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { ClusterProcesses, type ProcessName } from './processes.js'
import { stories } from './stories.js'
import type { Step, Story } from './story.js'
import { World } from './world.js'

interface KillPoint {
  readonly step: string
  readonly process: ProcessName
}
interface Case {
  readonly story: Story
  readonly kills: readonly KillPoint[]
}

/** Of two nodes the lost one's kubelet is of interest. */
const processesOf = (story: Story): readonly ProcessName[] =>
  story.twoNodes
    ? ['server', 'scheduler', 'controller-manager', 'lost']
    : ['server', 'scheduler', 'controller-manager', 'kubelet']

/** story × step × process. */
export const everyCase = (): Case[] =>
  stories.flatMap((story) =>
    story.steps.flatMap((step: Step) =>
      processesOf(story)
        .filter((process) => !(step.lostIsDown && process === 'lost'))
        .map((process) => ({ story, kills: [{ step: step.name, process }] })),
    ),
  )

/** Each story once, with a kill at several of its steps. */
export const casesOfCi = (): Case[] =>
  stories
    .filter(({ long }) => !long)
    .map((story) => ({
      story,
      kills: story.steps.flatMap(({ name, ci }) => (ci ? [{ step: name, process: ci }] : [])),
    }))

export const nameOf = ({ story, kills }: Case): string =>
  `${story.name}: ${kills.map(({ step, process }) => `${process} at "${step}"`).join(', ')}`

export const startStoryCluster = async (endpoint?: string): Promise<ClusterProcesses> => {
  const lease = '--node-lease-duration-seconds=4'
  const cluster = new ClusterProcesses({
    flags: {
      'controller-manager': ['--node-monitor-grace-period=5s', '--node-monitor-period=250ms'],
      kubelet: [lease],
      lost: [lease],
    },
    endpoint,
  })
  await cluster.start(['kubelet', 'scheduler', 'controller-manager'])
  return cluster
}

/** For a step to come, beside the time that processes are away. */
const patienceMs = 120_000

/** Kills each process at its step, and starts it again after `awayMs`. */
class Killer {
  readonly #world: World
  readonly #awayMs: number
  readonly #waiting: { holds: (world: World) => boolean; point: KillPoint }[]
  readonly #under: Promise<void>[] = []

  constructor(world: World, { story, kills }: Case, awayMs: number) {
    this.#world = world
    this.#awayMs = awayMs
    this.#waiting = kills.map((point) => ({
      point,
      holds: story.steps.find(({ name }) => name === point.step)!.holds,
    }))
  }

  look(): void {
    for (const entry of [...this.#waiting]) {
      if (!entry.holds(this.#world)) continue
      this.#waiting.splice(this.#waiting.indexOf(entry), 1)
      this.#under.push(this.#kill(entry.point.process))
    }
  }

  async #kill(process: ProcessName): Promise<void> {
    const { cluster } = this.#world
    // It may be on its way back from an earlier kill. Two kills at once must not start it twice.
    do await eventually(`${process} to kill`, () => cluster.runs(process))
    while (!(await cluster.end(process)))
    await sleep(this.#awayMs)
    cluster.launch(process)
  }

  /** Resolves when all that was killed runs again; yields the steps that never came. */
  async finish(): Promise<string[]> {
    await Promise.all(this.#under)
    return this.#waiting.map(({ point }) => `the step "${point.step}" never came`)
  }
}

const wrongAfter = async (world: World, story: Story): Promise<string[]> => {
  const wrong: string[] = []
  const left = () => world.processes().map(({ pid, pod }) => `${pid} ${pod}`)
  await eventually('no process', () => left().length === 0).catch(() =>
    wrong.push(`left behind: ${left().join(', ')}`),
  )
  const starts = world.record('starts')
  if (new Set(starts).size !== starts.length) wrong.push('a Pod was started twice')
  const twins = world.record('two')
  if (twins.length > 0 && !story.mayRunTwice) wrong.push(`two at once: ${twins.join(', ')}`)
  return wrong
}

/** What is wrong, one line each; empty when the story has ended as it should. */
export const playCase = async (
  cluster: ClusterProcesses,
  one: Case,
  { namespace, awayMs }: { namespace: string; awayMs: number },
): Promise<string[]> => {
  const { story, kills } = one
  const world = new World(cluster, namespace, patienceMs + kills.length * awayMs)
  const killer = new Killer(world, one, awayMs)
  // What Pods write makes no event.
  const looking = setInterval(() => killer.look(), 10)
  const wrong: string[] = []
  try {
    if (story.twoNodes) cluster.launch('lost')
    await world.open()
    world.onChange = () => killer.look()
    wrong.push(...(await story.play(world)))
  } catch (error) {
    wrong.push((error as Error).message)
  }
  killer.look()
  clearInterval(looking)
  world.onChange = () => {}
  wrong.push(...(await killer.finish()), ...(await wrongAfter(world, story)))
  if (story.twoNodes) {
    await cluster.end('lost', 'SIGTERM')
    await world.delete(resources.nodes, 'node-lost')
  }
  await world.close()
  return wrong
}
