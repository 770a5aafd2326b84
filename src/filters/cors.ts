/** Which pages of other origins may see answers (WithCORS). */
import { compilePattern, matchesPattern } from '#cel/patterns.js'
import type { Filter } from './kube-request.js'

/**
 * Why a pattern of origins is invalid. It must be anchored at the beginning and the end of the host, or longer names
 * would match too.
 */
export const originProblem = (pattern: string): string | undefined => {
  try {
    compilePattern(pattern)
  } catch (error) {
    return (error as Error).message
  }
  return /\^|\/\//.test(pattern) && /[$:]/.test(pattern)
    ? undefined
    : 'regular expression does not pin to start/end of host in the origin header'
}

const allowed: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
}

/** Preflight requests are answered here, before authentication. */
export const cors =
  (patterns: readonly string[]): Filter =>
  (request, reply) => {
    const { origin } = request.headers
    if (!origin || !patterns.some((pattern) => matchesPattern(pattern, origin))) return
    reply.header('access-control-allow-origin', origin).headers(allowed)
    if (request.method === 'OPTIONS') reply.code(204).send()
  }
