/**
 * What an evaluation really does. Some calls cost one however much there is to compare, to copy or to print, and upstream
 * leaves those to the deadline of the request. A server of one thread would answer nobody until then.
 */
import { limits } from '#limits'

/** The evaluation cost more than it may; nothing in an expression can catch this. */
export class CostExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

/** Only evaluations are counted. */
let done = -Infinity

/** `parts`: values that are looked at or made; ten characters count as one. */
export const work = (parts: number): void => {
  done += parts
  if (done > limits.celWorkMax) throw new CostExceeded()
}

/** Evaluations may begin others. */
export const measured = <T>(run: () => T): { result: T; parts: number } => {
  const around = done
  done = 0
  try {
    return { result: run(), parts: done }
  } finally {
    done = around
  }
}
