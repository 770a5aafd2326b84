/** What follows stored objects inside the API server for as long as it runs. */
import { hostname } from 'node:os'
import type { GroupResource } from '#api/group-version.js'
import { QueueMetrics } from '#client/queue-metrics.js'
import { type CustomResources, startCustomResources } from '#crd/lifecycle.js'
import type { FlowControl } from '#flowcontrol/flow-control.js'
import { Aggregator } from '#src/aggregator/aggregator.js'
import { CustomApiServices } from '#src/aggregator/custom-api-services.js'
import { followNodeGraph } from './authorization/follow-node-graph.js'
import { followKeptConfigMaps } from './bootstrap/follow-config-maps.js'
import { keepBootstrap } from './bootstrap/keep-bootstrap.js'
import { startFlowControl } from './flowcontrol/start-flow-control.js'
import { IdentityLease } from './identity-lease.js'
import type { ServerOptions } from './options.js'
import { bootstrapDeps, type ServerState } from './server-state.js'
import { KubernetesService } from './services/kubernetes-service.js'
import { MasterLeases, masterLeasesPrefix } from './services/master-leases.js'
import type { StartedParts } from './started-parts.js'

export interface Controllers {
  /** Undefined where requests have no levels of priority. */
  readonly flowControl: FlowControl | undefined
  readonly customResources: CustomResources
  readonly aggregator: Aggregator
  /** Of the controllers that work on queues. */
  readonly queues: QueueMetrics
  /** Held once the server listens. */
  readonly lease: IdentityLease
  /** Published once the server listens. */
  readonly kubernetesService: KubernetesService
}

const makeKubernetesService = (state: ServerState, options: ServerOptions): KubernetesService => {
  const { endpointReconcilerType: reconcilerType = 'lease', apiserverCount = 1 } = options
  const leases = state.stores.sharedStorage(masterLeasesPrefix)
  return new KubernetesService({
    bootstrap: () => bootstrapDeps(options, state),
    leases: leases && new MasterLeases(leases),
    reconcilerType,
    apiserverCount,
    log: state.log,
  })
}

/** When this resolves, each has read what it follows. */
export const startControllers = async (
  state: ServerState,
  options: ServerOptions,
  started: StartedParts,
): Promise<Controllers> => {
  const { stores, clock, log, table, trust, credentials, postStartHooks } = state
  const storeOf = (resource: GroupResource) => stores.ofResource(resource)
  const follow = { storeOf, clock, log }
  const { nodeGraph } = state.access
  if (nodeGraph !== undefined) {
    const followed = await followNodeGraph(nodeGraph, follow)
    started.defer(() => followed.stop())
  }
  const flowControl = await startFlowControl(state, options, started)
  postStartHooks.finish('generic-apiserver-start-informers')
  const customResources = await startCustomResources({
    ...follow,
    table,
    storeOfRow: stores.of,
    webhookAgent: state.webhookAgent,
  })
  started.defer(() => customResources.stop())
  postStartHooks.finish(
    'start-apiextensions-informers',
    'start-apiextensions-controllers',
    'crd-informer-synced',
  )
  const queues = new QueueMetrics()
  const aggregator = new Aggregator({ ...follow, queues, proxyClient: credentials.proxyClient })
  started.defer(() => aggregator.stop())
  await aggregator.start()
  postStartHooks.finish(
    'start-kube-aggregator-informers',
    'apiservice-status-local-available-controller',
    'apiservice-status-remote-available-controller',
    'apiservice-registration-controller',
    'apiservice-discovery-controller',
  )
  const customApiServices = new CustomApiServices({
    ...follow,
    queues,
    table,
    services: aggregator,
  })
  started.defer(() => customApiServices.stop())
  postStartHooks.finish('kube-apiserver-autoregistration', 'autoregister-completion')
  const configMaps = await followKeptConfigMaps(trust, { ...follow, queues })
  started.defer(() => configMaps.stop())
  postStartHooks.finish(
    'start-cluster-authentication-info-controller',
    'start-legacy-token-tracking-controller',
  )
  const lease = new IdentityLease({ ...follow, hostname: hostname(), isShared: stores.isShared })
  const kept = keepBootstrap(() => bootstrapDeps(options, state))
  started.defer(() => kept.stop())
  const kubernetesService = makeKubernetesService(state, options)
  return { flowControl, customResources, aggregator, queues, lease, kubernetesService }
}
