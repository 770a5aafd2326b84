/** Plays scripts to two worlds at once, and tells which of them end otherwise in one than in the other. */
import { type Plan as ComparePlan, compareAll } from './compare-all.js'
import { differenceOf } from './difference.js'
import { scriptOf } from './scripts.js'
import type { World } from './world.js'

interface Worlds {
  /** That is looked at. */
  readonly server: World
  /** That is right. */
  readonly against: World
}

interface Plan extends ComparePlan {
  /** In the names of namespaces: what an earlier run has left behind is not met. */
  readonly run: string
  readonly seeds: readonly number[]
  readonly subjects: readonly string[]
}

const compare = async (
  { server, against }: Worlds,
  seed: number,
  plan: Plan,
  play: number,
): Promise<string[]> => {
  const { steps } = scriptOf(seed, plan.subjects)
  // What is still told of the play before is not met.
  const namespace = `world-${plan.run}-${seed}e${play}`
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
  let plays = 0
  const hasNodes = (seed: number): boolean => scriptOf(seed, plan.subjects).hasNodes
  for (const seeds of [plan.seeds.filter((seed) => !hasNodes(seed)), plan.seeds.filter(hasNodes)])
    await compareAll(seeds, plan, (seed) => compare(worlds, seed, plan, ++plays), tell)
}
