/** What a story is made of, and what it can see of a Pod. */
import type { ProcessName } from './processes.js'
import type { World } from './world.js'

export interface Step {
  readonly name: string
  /** True from the moment at which the step can be seen. */
  holds(world: World): boolean
  /** Killed here in the one pass that CI makes. */
  readonly ci?: ProcessName
  /** The second kubelet does not run here: the story has killed it. */
  readonly lostIsDown?: boolean
}

export interface Story {
  readonly name: string
  /** In the order in which they come about. */
  readonly steps: readonly Step[]
  /** Needs the second node. */
  readonly twoNodes?: boolean
  /** Names that may run twice because somebody has deleted their Pod by force. */
  readonly mayRunTwice?: boolean
  /** Takes minutes: not in CI. */
  readonly long?: boolean
  /** Does it all, waits for the end, and says what is wrong. */
  play(world: World): Promise<readonly string[]>
}

export const isGoing = (world: World, name: string): boolean =>
  world.pod(name)?.metadata.deletionTimestamp !== undefined
export const isBound = (world: World, name: string): boolean =>
  Boolean(world.pod(name)?.spec.nodeName)
export const isFinal = (world: World, name: string): boolean =>
  ['Succeeded', 'Failed'].includes(world.pod(name)?.status?.phase ?? '')
/** A Pod of the name has been there and is not any more. */
export const isGone = (world: World, name: string): boolean =>
  world.pod(name) === undefined &&
  [...world.everyPod.values()].some(({ metadata }) => metadata.name === name)
export const uidsOf = (world: World, name: string): string[] =>
  [...world.everyPod.values()]
    .filter(({ metadata }) => metadata.name === name)
    .map(({ metadata }) => metadata.uid)
export const recorded = (world: World, file: string, word: string): boolean =>
  world.record(file).includes(word)
