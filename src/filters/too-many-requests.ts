import { noSniff, PlainTextError } from '#api/plain-text-error.js'

/** `retryAfter`: seconds. */
export const tooManyRequests = (retryAfter: number): PlainTextError =>
  new PlainTextError(429, 'Too many requests, please try again later.\n', {
    ...noSniff,
    'retry-after': String(retryAfter),
  })
