/** What Go's client does with an answer that sends it elsewhere (net/http, redirectBehavior). */
import type { IncomingMessage } from 'node:http'
import { limits } from '#limits'

/** Where the answer is instead. */
export const movedTo = (
  { statusCode = 0, headers }: IncomingMessage,
  url: string,
): URL | undefined => {
  const { location = '' } = headers
  const isMoved = [301, 302, 303, 307, 308].includes(statusCode)
  return isMoved && URL.canParse(location, url) ? new URL(location, url) : undefined
}

/** Said of where the last one leads, as it is written there. */
export const tooManyMoves = `stopped after ${limits.redirectsMax} redirects`

/** The others are followed by a GET. */
export const keepsMethod = ({ statusCode }: IncomingMessage): boolean =>
  statusCode === 307 || statusCode === 308

/** Credentials that are meant for one host go to no other, but to those of its domain. */
export const mayHaveCredentials = ({ hostname }: URL, from: string): boolean => {
  const own = new URL(from).hostname
  return hostname === own || hostname.endsWith(`.${own}`)
}
