/** Plays scripts to two worlds at once, and tells which of them end otherwise in one than in the other. */
import { differenceOf } from './difference.js'
import { scriptOf } from './scripts.js'
import type { World } from './world.js'

interface Worlds {
  /** That is looked at. */
  readonly server: World
  /** That is right. */
  readonly against: World
}

interface Plan {
  /** In the names of namespaces: what an earlier run has left behind is not met. */
  readonly run: string
  readonly seeds: readonly number[]
  readonly subjects: readonly string[]
  /** How many scripts run side by side. */
  readonly atOnce: number
  /** How often a script that parts is played again, alone, to see whether it was only the moment. */
  readonly again: number
}

const compare = async (
  { server, against }: Worlds,
  seed: number,
  plan: Plan,
): Promise<string[]> => {
  const { steps } = scriptOf(seed, plan.subjects)
  const namespace = `world-${plan.run}-${seed}`
  const [ours, theirs] = await Promise.all([
    server.play(namespace, steps),
    against.play(namespace, steps),
  ])
  return differenceOf(ours, theirs)
}

/** Tells of each seed whose worlds part every time. */
export const playAll = async (
  worlds: Worlds,
  plan: Plan,
  tell: (seed: number, difference: readonly string[]) => void,
): Promise<void> => {
  const parted = new Map<number, string[]>()
  const playSome = async (hasNodes: boolean): Promise<void> => {
    const left = plan.seeds.filter((seed) => scriptOf(seed, plan.subjects).hasNodes === hasNodes)
    const work = async (): Promise<void> => {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        const difference = await compare(worlds, seed, plan)
        if (difference.length > 0) parted.set(seed, difference)
      }
    }
    await Promise.all(Array.from({ length: plan.atOnce }, work))
  }
  for (const hasNodes of [false, true]) await playSome(hasNodes)
  for (const [seed, first] of [...parted].sort(([a], [b]) => a - b)) {
    let difference = first
    for (let i = 0; i < plan.again && difference.length > 0; i++)
      difference = await compare(worlds, seed, plan)
    tell(seed, difference)
  }
}
