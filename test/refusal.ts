/** What a client would see of what `run` throws: code and message; `accepted` when it does not. */
import { ApiError } from '#api/errors.js'

export const refusal = (run: () => unknown): string => {
  try {
    run()
  } catch (e) {
    if (e instanceof ApiError) return `${e.code} ${e.message}`
    throw e
  }
  return 'accepted'
}
