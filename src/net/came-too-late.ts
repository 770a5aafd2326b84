import type { ClientRequest } from 'node:http'

/**
 * Whether the request was sent on a kept connection that its server ended meanwhile. Go learns of such an end at once
 * (net/http: errServerClosedIdle); here the server may also have got the request, and its answer is lost. So only what may
 * be sent twice is sent again.
 */
export const cameTooLate = (
  { reusedSocket }: ClientRequest,
  { code }: NodeJS.ErrnoException,
): boolean => reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')
