/** What strict validation refuses in a body: each once, in the order of the text, and no more than is told. */
import { dotted } from '#api/field-error.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'

export class StrictErrors {
  readonly #texts = new Set<string>()
  /** What was told of the fields of one path, so that a path, which may be as long as the body, is not printed in vain. */
  readonly #told = new Map<string, Set<string>>()

  add(what: 'duplicate' | 'unknown', path: string, key: string): void {
    if (this.#texts.size >= limits.strictErrorsMax) return
    const told = this.#told.get(path) ?? new Set()
    this.#told.set(path, told)
    const field = `${what} ${key}`
    if (told.has(field)) return
    told.add(field)
    this.#texts.add(`${what} field ${goQuote(dotted(path, key))}`)
  }

  texts(): string[] {
    return [...this.#texts]
  }
}
