/**
 * Numbers of raw JSON (RawExtension), which Go hands on as they were written: `1.0`, `1e3`, `18446744073709551615`. In
 * JavaScript they are numbers like any others; how they were written is noted beside the object or list that has them.
 * Who makes a copy has their value alone, as Go's maps have.
 */
import type { JsonTrace } from './traced.js'

const written = new WeakMap<object, ReadonlyMap<string | number, string>>()

let isMet = false

/** JSON.stringify calls it, so that a noted container is met without a search in what has none. */
function meet(this: object): object {
  isMet = true
  return this
}

/** Whether JSON.stringify has come by a noted container since this was asked last. */
export const metWritten = (): boolean => {
  const was = isMet
  isMet = false
  return was
}

const note = (container: object, texts: ReadonlyMap<string | number, string>): void => {
  if (Object.hasOwn(container, 'toJSON')) return
  written.set(container, texts)
  Object.defineProperty(container, 'toJSON', { value: meet })
}

/** Notes all numbers of a text that was read. */
export const noteNumbers = ({ literals }: JsonTrace): void => {
  for (const [container, texts] of literals) note(container, texts)
}

/** Notes those that are somewhere in the value. */
export const noteNumbersIn = (value: unknown, literals: JsonTrace['literals']): void => {
  if (typeof value !== 'object' || value === null) return
  const texts = literals.get(value)
  if (texts !== undefined) note(value, texts)
  for (const item of Object.values(value)) noteNumbersIn(item, literals)
}

/** The text of a number; undefined if it was written as JavaScript writes it, or is another one by now. */
export const writtenNumber = (
  container: object,
  key: string | number,
  value: unknown,
): string | undefined => {
  const text = written.get(container)?.get(key)
  return text !== undefined && Number(text) === value ? text : undefined
}
