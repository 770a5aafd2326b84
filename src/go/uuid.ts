import { goQuote } from './quote.js'

const urnPrefix = 'urn:uuid:'

/** What is wrong with a UUID, if anything is. Its length says in which of its forms it has to be (google/uuid, Validate). */
export const uuidProblem = (text: string): string | undefined => {
  const length = Buffer.byteLength(text)
  const isUuid = (plain: string): boolean =>
    /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(plain)
  const malformed = 'invalid UUID format'
  switch (length) {
    case 32:
      return /^[0-9a-f]*$/i.test(text) ? undefined : malformed
    case 36:
      return isUuid(text) ? undefined : malformed
    case 38:
      if (!/^\{.*\}$/s.test(text)) return 'invalid bracketed UUID format'
      return isUuid(text.slice(1, -1)) ? undefined : malformed
    case 45: {
      const prefix = text.slice(0, urnPrefix.length)
      if (prefix.toLowerCase() !== urnPrefix) return `invalid urn prefix: ${goQuote(prefix)}`
      return isUuid(text.slice(urnPrefix.length)) ? undefined : malformed
    }
    default:
      return `invalid UUID length: ${length}`
  }
}
