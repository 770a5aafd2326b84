/** Paths that everyone may read, credentials or not: upstream's role system:public-info-viewer. */
import type { Authorizer } from './authorizer.js'
import { noOpinion } from './authorizer.js'

const publicPaths = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

/** Stands in while no RBAC object can be read (first start, AlwaysDeny). */
export const publicInfoViewer: Authorizer = {
  authorize: ({ isResourceRequest, path, verb }) =>
    !isResourceRequest && verb === 'get' && publicPaths.has(path)
      ? { decision: 'allow', reason: '' }
      : noOpinion,
}
