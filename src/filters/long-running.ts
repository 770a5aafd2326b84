import { backupPath } from '#api/backup-path.js'
import { clockMovesPath } from '#api/movable-clock.js'
import type { RequestInfo } from '#api/request-info.js'

const longRunningSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward'])

/**
 * Watches, streams, profiles and backups last as long as their clients want: they have no deadline and count towards no
 * limit.
 */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.verb === 'watch' ||
  info.verb === 'proxy' ||
  longRunningSubresources.has(info.subresource) ||
  (!info.isResourceRequest &&
    (info.path.startsWith('/debug/pprof/') ||
      info.path === clockMovesPath ||
      info.path === backupPath))
