/** What strict validation refuses in a body: each once, in the order of the text, and no more than is told. */
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'

export class StrictErrors {
  readonly #texts = new Set<string>()

  /** Of what is not told the path, which may be as long as the body, is not even printed. */
  add(what: 'duplicate' | 'unknown', path: string): void {
    if (this.#texts.size >= limits.strictErrorsMax) return
    this.#texts.add(`${what} field ${goQuote(path)}`)
  }

  texts(): string[] {
    return [...this.#texts]
  }
}
