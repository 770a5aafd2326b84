import { goQuote } from '#go/quote.js'
import { limits } from '#limits'

/**
 * What strict validation refuses in the text of one body: each once, and no more than sigs.k8s.io/json collects. Nor more
 * of it than a text can hold: a body of a megabyte may have ten thousand fields below a name of a megabyte.
 */
export class StrictErrors {
  readonly #texts = new Set<string>()
  #pathsLength = 0

  add(problem: 'duplicate' | 'unknown', path: string): void {
    if (this.#texts.size >= limits.strictErrorsMax) return
    if (this.#pathsLength > limits.strictErrorPathsLengthMax) return
    this.#pathsLength += path.length
    this.#texts.add(`${problem} field ${goQuote(path)}`)
  }

  /** `duplicate field "data.k"`, in the order of the text. */
  all(): string[] {
    return [...this.#texts]
  }
}
