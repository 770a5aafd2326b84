/**
 * Upstream's handlers take every method but what go-restful routes. Fastify routes few: the others (those of WebDAV) go
 * the way of TRACE, which nothing means anything by, and keep their name for who asks what was asked for.
 */
interface Request {
  method?: string | undefined
}

const routed = new Set([
  'GET',
  'HEAD',
  'TRACE',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'PUT',
  'POST',
  'QUERY',
])
const asked = new WeakMap<object, string>()

export const routeUnusualMethod = (request: Request): void => {
  const { method = '' } = request
  if (routed.has(method)) return
  asked.set(request, method)
  request.method = 'TRACE'
}

/** The method of a request as it came. */
export const askedMethod = (request: Request): string =>
  request.method === 'TRACE' ? (asked.get(request) ?? 'TRACE') : (request.method ?? '')
