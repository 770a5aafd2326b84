/** The query parameters of each kind of operation, and their types. */
export const listQuery = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'pretty',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
  'watch',
]
export const writeQuery = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty']
export const patchQuery = ['dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty']
export const deleteQuery = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'pretty',
  'propagationPolicy',
]
export const logQuery = [
  'container',
  'follow',
  'insecureSkipTLSVerifyBackend',
  'limitBytes',
  'pretty',
  'previous',
  'sinceSeconds',
  'stream',
  'tailLines',
  'timestamps',
]
export const connectQuery: Readonly<Record<string, readonly string[]>> = {
  attach: ['container', 'stderr', 'stdin', 'stdout', 'tty'],
  exec: ['command', 'container', 'stderr', 'stdin', 'stdout', 'tty'],
  portforward: ['ports'],
  proxy: ['path'],
}

const booleans = new Set([
  'allowWatchBookmarks',
  'follow',
  'force',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'insecureSkipTLSVerifyBackend',
  'orphanDependents',
  'previous',
  'sendInitialEvents',
  'stderr',
  'stdin',
  'stdout',
  'timestamps',
  'tty',
  'watch',
])
const integers = new Set([
  'gracePeriodSeconds',
  'limit',
  'limitBytes',
  'ports',
  'sinceSeconds',
  'tailLines',
  'timeoutSeconds',
])

export const parameterType = (name: string): 'boolean' | 'integer' | 'string' => {
  if (booleans.has(name)) return 'boolean'
  return integers.has(name) ? 'integer' : 'string'
}
