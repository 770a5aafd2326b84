/** The slow way to read JSON: keeps what JSON.parse forgets. The text is known to be JSON of a bounded depth. */
import type { JsonTrace, ParsedJson } from './json.js'
import type { JsonObject, JsonValue } from './object.js'

const int64Max = 2n ** 63n - 1n
const int64Min = -(2n ** 63n)

class Reader {
  readonly #text: string
  #at = 0
  readonly trace: JsonTrace = { entries: new Map(), literals: new Map() }

  constructor(text: string) {
    this.#text = text
  }

  value(container: object | undefined, key: string | number): JsonValue {
    this.#space()
    const char = this.#text[this.#at]!
    if (char === '{') return this.#object()
    if (char === '[') return this.#array()
    if (char === '"') return this.#string()
    if (char === 't') return this.#word(4, true)
    if (char === 'f') return this.#word(5, false)
    if (char === 'n') return this.#word(4, null)
    return this.#number(container, key)
  }

  #object(): JsonObject {
    const object: JsonObject = {}
    const entries: [string, JsonValue][] = []
    let twice = false
    this.#at++
    while (this.#next('}')) {
      const key = this.#string()
      this.#space()
      this.#at++
      if (Object.hasOwn(object, key)) twice = true
      const value = this.value(object, key)
      entries.push([key, value])
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
    if (isInteger && Number.isSafeInteger(value)) return value
    if (isInteger) {
      const big = BigInt(literal)
      if (big >= int64Min && big <= int64Max) return big
    }
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

export const parseTraced = (text: string): ParsedJson => {
  const reader = new Reader(text)
  const value = reader.value(undefined, '')
  const { entries, literals } = reader.trace
  return { value, trace: entries.size === 0 && literals.size === 0 ? undefined : reader.trace }
}
