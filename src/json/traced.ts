/** The slow way to read JSON: keeps what JSON.parse forgets. The text is known to be JSON of a bounded depth. */
import { parseInt64 } from './int64.js'
import type { JsonObject, JsonValue } from './value.js'

export type WrittenEntry = [key: string, value: JsonValue, literal?: string]

/** What JSON.parse loses. Kept only for texts that have such things. */
export interface JsonTrace {
  /** For each object with a key that came more than once: all entries as they came, and how a number in one was written. */
  readonly entries: Map<object, WrittenEntry[]>
  /** For each container with numbers that JavaScript writes in another way (`1.0`, `1e2`, `1e400`, `-0`): how they were written. */
  readonly literals: Map<object, Map<string | number, string>>
}

export interface ParsedJson {
  readonly value: JsonValue
  readonly trace: JsonTrace | undefined
}

/** What stands for a scalar in the value that is read; `literal` is its text. */
type ReadScalar = (literal: string, value: string | number | bigint) => JsonValue

class Reader {
  readonly #text: string
  #at = 0
  readonly #readScalar: ReadScalar | undefined
  readonly trace: JsonTrace = { entries: new Map(), literals: new Map() }

  constructor(text: string, readScalar?: ReadScalar) {
    this.#text = text
    this.#readScalar = readScalar
  }

  value(container: object | undefined, key: string | number): JsonValue {
    this.#space()
    const char = this.#text[this.#at]!
    if (char === '{') return this.#object()
    if (char === '[') return this.#array()
    if (char === '"') return this.#textValue(container)
    if (char === 't') return this.#word(4, true)
    if (char === 'f') return this.#word(5, false)
    if (char === 'n') return this.#word(4, null)
    return this.#number(container, key)
  }

  #object(): JsonObject {
    const object: JsonObject = {}
    const entries: WrittenEntry[] = []
    let twice = false
    this.#at++
    while (this.#next('}')) {
      const key = this.#string()
      this.#space()
      this.#at++
      if (Object.hasOwn(object, key)) {
        twice = true
        // It says how the value before was written.
        this.trace.literals.get(object)?.delete(key)
      }
      const value = this.value(object, key)
      const literal = this.trace.literals.get(object)?.get(key)
      entries.push(literal === undefined ? [key, value] : [key, value, literal])
      // Not an assignment: `__proto__` is a key like any other.
      Object.defineProperty(object, key, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    }
    if (twice) this.trace.entries.set(object, entries)
    return object
  }

  #array(): JsonValue[] {
    const array: JsonValue[] = []
    this.#at++
    while (this.#next(']')) array.push(this.value(array, array.length))
    return array
  }

  /** Steps over spaces and a comma; false, and past it, at `close`. */
  #next(close: string): boolean {
    this.#space()
    if (this.#text[this.#at] === ',') {
      this.#at++
      this.#space()
    }
    if (this.#text[this.#at] !== close) return true
    this.#at++
    return false
  }

  #string(): string {
    const start = this.#at
    this.#at++
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    this.#at++
    const text = JSON.parse(this.#text.slice(start, this.#at)) as string
    return text.replace(/\p{Surrogate}/gu, '\ufffd')
  }

  #textValue(container: object | undefined): JsonValue {
    const start = this.#at
    const value = this.#string()
    if (container === undefined || this.#readScalar === undefined) return value
    return this.#readScalar(this.#text.slice(start, this.#at), value)
  }

  #word<T>(length: number, value: T): T {
    this.#at += length
    return value
  }

  #number(container: object | undefined, key: string | number): JsonValue {
    const start = this.#at
    while (/[-+.eE0-9]/.test(this.#text[this.#at] ?? '')) this.#at++
    const literal = this.#text.slice(start, this.#at)
    const value = Number(literal)
    const isInteger = !/[.eE]/.test(literal)
    const big = isInteger && !Number.isSafeInteger(value) ? parseInt64(literal) : undefined
    if (container !== undefined && this.#readScalar !== undefined)
      return this.#readScalar(literal, big ?? value)
    if (isInteger && Number.isSafeInteger(value) && literal !== '-0') return value
    if (big !== undefined) return big
    if (container !== undefined && literal !== String(value)) {
      const literals = this.trace.literals.get(container) ?? new Map<string | number, string>()
      this.trace.literals.set(container, literals.set(key, literal))
    }
    return value
  }

  #space(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++
  }
}

/** The value, with each scalar in an object or a list as `readScalar` has it. */
export const parseScalars = (text: string, readScalar: ReadScalar): JsonValue =>
  new Reader(text, readScalar).value(undefined, '')

export const parseTraced = (text: string): ParsedJson => {
  const reader = new Reader(text)
  const value = reader.value(undefined, '')
  const { entries, literals } = reader.trace
  return { value, trace: entries.size === 0 && literals.size === 0 ? undefined : reader.trace }
}
