/**
 * How much a strategic merge patch looks at. It may name one entry of a list as often as it likes, and each time all lists
 * and maps of that entry are gone through; upstream leaves that to the deadline of the request.
 */
import { failure } from '#api/errors.js'
import { limits } from '#limits'

export class MergeWork {
  #parts = 0

  /** `parts`: entries of a list or fields of a map that are gone through. Throws an ApiError (413). */
  look(parts: number): void {
    this.#parts += parts
    if (this.#parts > limits.mergedPartsMax)
      throw failure({
        code: 413,
        reason: 'RequestEntityTooLarge',
        message: `Request entity too large: a strategic merge patch may go through ${limits.mergedPartsMax} entries of lists and maps, and the same one counts each time`,
      })
  }
}
