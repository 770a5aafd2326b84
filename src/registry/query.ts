/** Query parameters as upstream converts them (apimachinery, runtime/converter.go): the first value counts, loosely. */

import { badRequest } from '#api/errors.js'
import { goQuote } from '#go/quote.js'
import { type Int64, int64Of } from '#json/int64.js'

const int64Max = 2n ** 63n

/** strconv.ParseInt with its messages, as a 400. */
const parseInt64 = (text: string): Int64 => {
  const quoted = goQuote(text)
  if (!/^[+-]?[0-9]+$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${quoted}: invalid syntax`)
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  if (value >= int64Max || value < -int64Max)
    throw badRequest(`strconv.ParseInt: parsing ${quoted}: value out of range`)
  return int64Of(value)
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
    return value === null || value === undefined ? undefined : parseInt64(value)
  }
  /** The same as a JavaScript number, which is not exact beyond 2^53. Throws 400. */
  integerIfGiven(name: string): number | undefined {
    const value = this.int64IfGiven(name)
    return value === undefined ? undefined : Number(value)
  }
}
