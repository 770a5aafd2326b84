/** A number from 0 up to 1, as a dependency that a test can replace. */
import { randomInt } from 'node:crypto'

export type Random = () => number

const steps = 2 ** 32

export const systemRandom: Random = () => randomInt(steps) / steps
