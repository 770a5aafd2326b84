/**
 * Upstream's plain handlers take every method. Fastify routes few: the others (of WebDAV, say) are routed as TRACE, which
 * has no handlers of its own, and keep their name for `askedMethod`.
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
