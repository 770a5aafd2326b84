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
// For `storage: driver`: what a driver of one's own takes, gives and throws.
export {
  type Compare,
  type EventBatch,
  type HealthQuestion,
  type KeyValue,
  type Operation,
  type RangeOptions,
  type RangeResult,
  type StorageDriver,
  StorageError,
  type StorageEvent,
  type TransactionResult,
  type WatchOptions,
} from '#storage/driver.js'
export type { Restored } from '#storage/snapshot.js'
