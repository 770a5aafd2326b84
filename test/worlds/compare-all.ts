/** Plays many things in two places, some side by side, and those that part once more alone, to see whether it was only the moment. */

export interface Plan {
  /** How many are played side by side. */
  readonly atOnce: number
  /** How often one that parts is played again. */
  readonly again: number
}

/** Tells of each that parts; of one that does not part every time with no lines. */
export const compareAll = async <T>(
  plays: readonly T[],
  { atOnce, again }: Plan,
  compare: (play: T) => Promise<readonly string[]>,
  tell: (play: T, difference: readonly string[]) => void,
): Promise<void> => {
  const parted = new Map<T, readonly string[]>()
  const left = [...plays]
  const work = async (): Promise<void> => {
    for (let play = left.shift(); play !== undefined; play = left.shift()) {
      const difference = await compare(play)
      if (difference.length > 0) parted.set(play, difference)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  for (const play of plays) {
    let difference = parted.get(play)
    if (difference === undefined) continue
    for (let i = 0; i < again && difference.length > 0; i++) difference = await compare(play)
    tell(play, difference)
  }
}
