/**
 * The API for embedders: `createServer(options)` starts a Kubernetes API server in this process, as many as you like.
 *
 *     await using server = await createServer({ storage: 'level:/var/lib/demo' })
 *     writeFileSync('kubeconfig', server.kubeconfig)
 */

export type { FaultMatch, FaultRule, FaultStatus } from '#filters/fault-rule.js'
export type { Fault, FaultRules } from '#filters/faults.js'
export type { ServerClock } from '#server/cluster-clock.js'
export { createServer, type Server } from '#server/create-server.js'
export type { AuthorizationMode, ServerOptions } from '#server/options.js'
export type { Snapshot } from '#server/snapshots.js'
export type { Restored } from '#storage/snapshot.js'
