/** Query parameters as upstream converts them (apimachinery, runtime/converter.go): the first value counts, loosely. */

import { badRequest } from '#api/errors.js'
import { type Int64, int64Of, parseInt64, parseIntMessage } from '#json/int64.js'

/** strconv.ParseInt with its messages, as a 400. */
const readInt64 = (text: string): Int64 => {
  const value = parseInt64(text)
  if (value !== undefined) return int64Of(value)
  throw badRequest(parseIntMessage(text))
}

export class Query {
  readonly #values: URLSearchParams | undefined

  /** `url` is the request target as it came. */
  constructor(url: string) {
    const mark = url.indexOf('?')
    this.#values = mark < 0 ? undefined : new URLSearchParams(url.slice(mark + 1))
  }

  has(name: string): boolean {
    return this.#values?.has(name) ?? false
  }
  text(name: string): string {
    return this.#values?.get(name) ?? ''
  }
  textIfGiven(name: string): string | undefined {
    return this.#values?.get(name) ?? undefined
  }
  texts(name: string): string[] {
    return this.#values?.getAll(name) ?? []
  }
  /** Everything but `false` and `0` is true, the empty string too. */
  flagIfGiven(name: string): boolean | undefined {
    const value = this.#values?.get(name)
    if (value === null || value === undefined) return undefined
    return !(value === '0' || value.toLowerCase() === 'false')
  }
  flag(name: string): boolean {
    return this.flagIfGiven(name) ?? false
  }
  /** Throws 400. */
  int64IfGiven(name: string): Int64 | undefined {
    const value = this.#values?.get(name)
    return value === null || value === undefined ? undefined : readInt64(value)
  }
  /** The same as a JavaScript number, which is not exact beyond 2^53. Throws 400. */
  integerIfGiven(name: string): number | undefined {
    const value = this.int64IfGiven(name)
    return value === undefined ? undefined : Number(value)
  }
}
