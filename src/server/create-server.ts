/** Builds every collaborator of one server and starts it: the only place that does. */
import type { FaultRules } from '#filters/faults.js'
import type { Restored } from '#storage/snapshot.js'
import { advertiseAddress } from './advertise-address.js'
import type { ServerClock } from './cluster-clock.js'
import { type Controllers, startControllers } from './controllers.js'
import { loopbackName } from './credentials/credentials.js'
import { formatKubeconfig } from './credentials/kubeconfig.js'
import { writePrivateFile } from './credentials/private-files.js'
import type { ServerOptions } from './options.js'
import { makePort } from './port/port.js'
import { openServerState, type ServerState } from './server-state.js'
import { checkServiceOptions } from './service-range.js'
import { keepAllocations } from './services/keep-allocations.js'
import type { Snapshot } from './snapshots.js'
import { StartedParts } from './started-parts.js'

/** A running server. */
export interface Server {
  /** Where it listens: `https://127.0.0.1:6443`. */
  readonly url: string
  /** A kubeconfig (YAML text) for the admin, with the CA, a client certificate and the token inline. */
  readonly kubeconfig: string
  /**
   * A kubeconfig for any user, who has a client certificate: `kubeconfigOf('system:node:n1', ['system:nodes'])` is that of
   * a node's kubelet. What they may the authorizers say.
   */
  kubeconfigOf(user: string, groups?: readonly string[]): string
  /** Bearer token of the admin, who is in the group system:masters. */
  readonly adminToken: string
  /** All that is stored now. It stays in memory as long as somebody holds it. */
  snapshot(): Promise<Snapshot>
  /**
   * Restores a snapshot of this server by ordinary writes: resource versions keep rising, and every watcher sees the
   * difference. Finalizers and grace periods hold nothing back.
   */
  restore(snapshot: Snapshot): Promise<Restored>
  /** Rules by which requests fail on purpose. */
  readonly faults: FaultRules
  /** What time it is in the cluster, which tests move on. */
  readonly clock: ServerClock
  /** PEM of the server's own CA, which signed the serving certificate unless you provided one. */
  readonly caPem: string
  /**
   * Stops taking requests, answers accepted ones, ends watches and closes the storage that it opened. When it resolves
   * nothing of the server is left in the process. A second call returns the same promise.
   */
  close(): Promise<void>
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Writes what depends on the port: the `kubernetes` Service, the Lease, the kubeconfig. */
const publish = async (
  state: ServerState,
  { lease, kubernetesService }: Controllers,
  options: ServerOptions,
  { port, started }: { port: number; started: StartedParts },
): Promise<void> => {
  const { postStartHooks } = state
  const ip = advertiseAddress(options)
  if (state.featureGates.enabled('APIServerIdentity'))
    state.encryptionFigures.named(await lease.hold(`${ip}:${port}`))
  postStartHooks.finish(
    'start-kube-apiserver-identity-lease-controller',
    'start-kube-apiserver-identity-lease-garbage-collector',
  )
  await keepAllocations(state, options, started)
  postStartHooks.finish('start-service-ip-repair-controllers')
  // Last, as upstream: clients come to a server that is ready.
  const nodePort = options.kubernetesServiceNodePort ?? 0
  await kubernetesService.publish({ ip, port, nodePort })
  postStartHooks.finish('bootstrap-controller', 'peer-endpoint-reconciler-controller')
}

const start = async (
  options: ServerOptions,
  started: StartedParts,
): Promise<Omit<Server, 'close' | typeof Symbol.asyncDispose>> => {
  checkServiceOptions(options)
  const state = await openServerState(options, started)
  const controllers = await startControllers(state, options, started)
  const port = makePort(state, controllers, options)
  started.defer(() => port.close())
  await publish(state, controllers, options, { port: await port.listen(), started })
  const url = port.url()
  const { caPem, admin, adminToken, loopback, clientOf } = state.credentials
  const cluster = { url, tlsServerName: loopback && loopbackName, caPem }
  const kubeconfig = formatKubeconfig({ ...cluster, ...admin, token: adminToken })
  if (options.kubeconfigOut !== undefined) writePrivateFile(options.kubeconfigOut, kubeconfig)
  const kubeconfigOf = (user: string, groups: readonly string[] = []): string =>
    formatKubeconfig({ ...cluster, user, ...clientOf(user, groups) })
  const { clock, faults, snapshots } = state
  const { take: snapshot, restore } = snapshots
  const forTests = { clock, faults, snapshot, restore }
  return { url, kubeconfig, kubeconfigOf, adminToken, caPem, ...forTests }
}

/**
 * Starts a server; resolves when it takes requests. If it cannot start it rejects, and leaves nothing open: with a
 * StorageError if the store cannot be opened (`code`: Corrupt, Locked, Unavailable, …), with the system's error if the
 * port is taken or a file cannot be read, and with an Error that says what is wrong with the options.
 */
export const createServer = async (options: ServerOptions = {}): Promise<Server> => {
  const started = new StartedParts()
  try {
    const close = (): Promise<void> => started.end()
    return { ...(await start(options, started)), close, [Symbol.asyncDispose]: close }
  } catch (error) {
    // Errors while ending would hide the first one, which is the cause.
    await started.end().catch(() => {})
    throw error
  }
}
