/** Builds every collaborator of one server and starts it: the only place that does. */
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { FastifyInstance } from 'fastify'
import pino, { type Logger } from 'pino'
import { makeAdmission } from '#admission/chain.js'
import { type Clock, steadyClock, systemClock } from '#api/clock.js'
import type { GroupResource } from '#api/group-version.js'
import { packageVersion } from '#api/package-version.js'
import { certificateReader } from '#authn/client-certificate.js'
import { customResourceDefinition } from '#crd/definition-kind.js'
import { type CustomResources, startCustomResources } from '#crd/lifecycle.js'
import { filterChain, installChain } from '#filters/chain.js'
import { OpenRequests } from '#filters/open-requests.js'
import { repairAddresses } from '#kinds/core/service-repair.js'
import { kinds } from '#kinds/index.js'
import { limits } from '#limits'
import { describeSchema, fieldDocsVersion } from '#openapi/field-docs.js'
import type { FieldManager } from '#registry/field-manager/field-manager.js'
import { makeFieldManagers } from '#registry/field-manager/make-field-managers.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { makeResourceTable, type ResourceTable } from '#registry/resource-table.js'
import type { ApiDeps } from '#routes/api-deps.js'
import { installBackup } from '#routes/backup.js'
import { installDiscovery } from '#routes/discovery.js'
import { HealthResults } from '#routes/health-results.js'
import { installHealthz } from '#routes/healthz.js'
import { installApi } from '#routes/installer.js'
import { installMetrics } from '#routes/metrics.js'
import { installOpenApi } from '#routes/openapi.js'
import { installOpenId } from '#routes/openid.js'
import { RequestMetrics } from '#routes/request-metrics.js'
import { installRoot } from '#routes/root.js'
import { makeConnect } from '#routes/verbs/connect.js'
import { installVersion, versionDocument } from '#routes/version.js'
import { installZPages } from '#routes/z-pages.js'
import { Aggregator } from '#src/aggregator/aggregator.js'
import { CustomApiServices } from '#src/aggregator/custom-api-services.js'
import { proxyAggregated } from '#src/aggregator/proxy.js'
import { type Access, makeAccess } from './access.js'
import { answerExpressions, authorizeSigner } from './admission-authorizers.js'
import { advertiseAddress } from './advertise-address.js'
import { type BootstrapDeps, ensureBootstrap, publishKubernetesService } from './bootstrap.js'
import { type ServerCredentials, writePrivateFile } from './credentials.js'
import { followFlowSchemas } from './flow-source.js'
import { followKeptConfigMaps } from './follow-config-maps.js'
import { healthChecks } from './health-checks.js'
import {
  clientAuthorities,
  credentialsOf,
  frontProxyOf,
  reachableHost,
  requestHeaderOptions,
} from './identity.js'
import { holdIdentityLease } from './identity-lease.js'
import { formatKubeconfig } from './kubeconfig.js'
import { makeListener } from './listener.js'
import { OpenSockets } from './open-sockets.js'
import type { ServerOptions } from './options.js'
import { PostStartHooks } from './post-start-hooks.js'
import { openRegistryStores, type RegistryStores } from './registry-stores.js'
import { routeUpgrades } from './upgrades.js'

export interface Server {
  /** `https://127.0.0.1:6443` */
  readonly url: string
  /** Text of a kubeconfig for the admin. */
  readonly kubeconfig: string
  readonly adminToken: string
  readonly caPem: string
  /** Answers what it accepted, ends watches, closes the storage. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

interface Parts {
  app: FastifyInstance
  access: Access
  aggregator: Aggregator
  /** What runs beside the requests, in the order in which it ends. */
  background: { stop(): Promise<void> }[]
  credentials: ServerCredentials
  table: ResourceTable
  customResources: CustomResources
  stores: RegistryStores
  openRequests: OpenRequests
  openSockets: OpenSockets
  postStartHooks: PostStartHooks
  fieldManagerOf: (definition: ResourceDefinition) => FieldManager
  requests: RequestMetrics
  logger: Logger
}

const bindAddressOf = (options: ServerOptions): string => options.bindAddress ?? '127.0.0.1'

/** Of a server that listens. */
const urlOf = (app: FastifyInstance, bindAddress: string): string =>
  `https://${reachableHost(bindAddress)}:${(app.server.address() as AddressInfo).port}`

const buildInfo = () => ({
  ownVersion: packageVersion(),
  nodeVersion: process.versions.node,
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
})

const buildLabels = (): Record<string, string> => {
  const { major, minor, gitVersion, platform, goVersion, compiler } = versionDocument(buildInfo())
  return {
    major,
    minor,
    git_version: gitVersion,
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: goVersion,
    compiler,
    platform,
  }
}

const componentVersions = () => {
  const { major, minor, gitVersion, goVersion } = versionDocument(buildInfo())
  const binaryVersion = gitVersion.replace(/^v|\+.*$/g, '')
  return { goVersion, binaryVersion, emulationVersion: `${major}.${minor}` }
}

/** One line a request, at -v=2: it costs a third of the throughput. */
const logRequests = (app: FastifyInstance, logger: Logger): void => {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, url, kube } = request
    const milliseconds = Math.round(reply.elapsedTime)
    const user = kube?.user.name
    logger.info({ method, url, user, code: reply.statusCode, milliseconds }, 'request')
    done()
  })
}

const installRoutes = (parts: Parts, options: ServerOptions, clock: Clock): void => {
  const bindAddress = bindAddressOf(options)
  const { app, access, aggregator, table, stores, openRequests, fieldManagerOf } = parts
  const { requests, logger } = parts
  const checks = healthChecks({
    stores,
    openRequests,
    postStartHooks: parts.postStartHooks,
    healthTimeoutMs: options.etcdHealthcheckTimeoutMs ?? limits.healthCheckTimeoutMs,
    readyTimeoutMs: options.etcdReadycheckTimeoutMs ?? limits.healthCheckTimeoutMs,
  })
  const upgradeOf = routeUpgrades(app)
  // Before every route: what another server answers for is no business of theirs.
  proxyAggregated(app, {
    find: (path) => aggregator.find(path),
    backends: aggregator.backends,
    upgradeOf,
  })
  const health = new HealthResults()
  installHealthz(app, checks, {
    warn: (about, problem) => logger.warn(about, problem),
    results: health,
  })
  installRoot(app, table, checks)
  installBackup(app, () => stores.backupText())
  installMetrics(app, {
    requests,
    health,
    inFlight: () => openRequests.running,
    build: buildLabels(),
    apiServices: aggregator,
  })
  installVersion(app, buildInfo())
  installZPages(app, { startedAt: clock.now(), ...componentVersions(), flags: options.flags ?? {} })
  installDiscovery(app, table, aggregator)
  installOpenApi(app, {
    source: table,
    remote: aggregator,
    build: `${packageVersion()} ${fieldDocsVersion()}`,
    describe: describeSchema,
  })
  const report: ApiDeps['report'] = (about, message) => logger.error(about, message)
  const api = { table, stores, clock, fieldManagerOf, report }
  const connect = makeConnect({ kubeletClient: parts.credentials.kubeletClient, upgradeOf }, api)
  installApi(app, {
    ...api,
    connect,
    authorizeCreate: access.authorizeCreate,
    lookAgain: parts.customResources.lookAgain,
  })
  installOpenId(app, access.tokens, () => urlOf(app, bindAddress))
}

const bootstrapDeps = (
  options: ServerOptions,
  stores: RegistryStores,
  clock: Clock,
): BootstrapDeps => ({
  stores: (resource) => stores.ofResource(resource),
  now: clock.now(),
  caller: new AbortController(),
  serviceClusterIpRange: options.serviceClusterIpRange ?? '10.0.0.0/24',
})

const assemble = async (options: ServerOptions): Promise<Parts> => {
  const clock = options.clock ?? systemClock
  const logger = pino(
    { level: options.logLevel ?? 'warn' },
    pino.destination({ dest: 2, sync: true }),
  )
  const credentials = credentialsOf(options, clock)
  const access = makeAccess(options, credentials, clock)
  const table = makeResourceTable(access.withAccess([...kinds, customResourceDefinition]))
  const fieldManagerOf = makeFieldManagers(table)
  const log = (message: string, error?: unknown) => logger.warn({ err: error }, message)
  const stores = await openRegistryStores({
    storage: options.storage ?? 'memory:',
    table,
    admission: makeAdmission({
      disabled: options.disableAdmissionPlugins,
      authorizeSigner: authorizeSigner(access.authorizer),
      authorize: answerExpressions(access.authorizer),
      equivalentsOf: (definition) => table.equivalentsOf(definition),
      resourceOfKind: (kind) => {
        const row = table.byKind(kind)
        return row === undefined ? undefined : { ...row.gvr, namespaced: row.namespaced }
      },
    }),
    fieldManagerOf,
    clock,
    steadyClock: options.clock ?? steadyClock,
    log,
  })
  access.connect(stores)
  const authorities = clientAuthorities(options, credentials.caPem)
  const requestHeader = requestHeaderOptions(options, credentials)
  const trust = { authorities, requestHeader }
  const postStartHooks = new PostStartHooks()
  postStartHooks.finish(
    'start-apiserver-admission-initializer',
    'storage-object-count-tracker-hook',
    'storage-readiness',
  )
  await ensureBootstrap(bootstrapDeps(options, stores, clock), trust)
  postStartHooks.finish(
    'start-system-namespaces-controller',
    'rbac/bootstrap-roles',
    'scheduling/bootstrap-system-priority-classes',
    'priority-and-fairness-config-producer',
    'start-kubernetes-service-cidr-controller',
  )
  const follow = {
    storeOf: (resource: GroupResource) => stores.ofResource(resource),
    clock,
    log,
  }
  const flows = await followFlowSchemas({ ...follow, fieldManagerOf })
  postStartHooks.finish(
    'generic-apiserver-start-informers',
    'priority-and-fairness-config-consumer',
  )
  const app = makeListener({
    serving: credentials.serving,
    clientAuthorities: [...authorities, requestHeader.authority],
    report: (about, message) => logger.error(about, message),
  })
  const openRequests = new OpenRequests()
  const filters = filterChain({
    authenticator: access.authenticator,
    allowAnonymous: options.anonymousAuth ?? true,
    certificates: certificateReader(authorities, frontProxyOf(requestHeader)),
    authorizer: access.authorizer,
    flowSchemas: flows.schemas,
    inFlight: {
      reading: options.maxRequestsInFlight ?? limits.readRequestsInFlightMax,
      mutating: options.maxMutatingRequestsInFlight ?? limits.mutatingRequestsInFlightMax,
    },
    openRequests,
  })
  const requests = new RequestMetrics(table)
  installChain(app, clock, filters, ({ kube, raw }, code) => {
    const isDryRun = (raw.url ?? '').includes('dryRun=All')
    requests.count(kube.info, isDryRun, code, (performance.now() - kube.startedAt) / 1000)
  })
  postStartHooks.finish('priority-and-fairness-filter')
  if (logger.isLevelEnabled('info')) logRequests(app, logger)
  const requestTimeoutMs = options.requestTimeoutMs ?? limits.requestTimeoutMs
  const expiry = setInterval(() => openRequests.expire(requestTimeoutMs), 1000)
  expiry.unref()
  app.addHook('onClose', async () => clearInterval(expiry))
  const customResources = await startCustomResources({ ...follow, table })
  postStartHooks.finish(
    'start-apiextensions-informers',
    'start-apiextensions-controllers',
    'crd-informer-synced',
  )
  const aggregator = new Aggregator({ ...follow, proxyClient: credentials.proxyClient })
  await aggregator.start()
  postStartHooks.finish(
    'start-kube-aggregator-informers',
    'apiservice-status-local-available-controller',
    'apiservice-status-remote-available-controller',
    'apiservice-registration-controller',
    'apiservice-discovery-controller',
  )
  const configMaps = await followKeptConfigMaps(trust, follow)
  postStartHooks.finish(
    'start-cluster-authentication-info-controller',
    'start-legacy-token-tracking-controller',
  )
  const customApiServices = new CustomApiServices({ ...follow, table, services: aggregator })
  postStartHooks.finish('kube-apiserver-autoregistration', 'autoregister-completion')
  const parts = {
    app,
    access,
    aggregator,
    credentials,
    table,
    customResources,
    stores,
    openSockets: new OpenSockets(app.server),
    openRequests,
    postStartHooks,
    fieldManagerOf,
    background: [configMaps, customApiServices, aggregator, customResources, flows],
    requests,
    logger,
  }
  installRoutes(parts, options, clock)
  postStartHooks.finish('apiservice-openapi-controller', 'apiservice-openapiv3-controller')
  return parts
}

const stopBackground = async ({ background }: Parts): Promise<void> => {
  for (const one of background) await one.stop()
}

/** Stops listening, lets accepted requests finish, ends watches, then closes the storage. */
const shutDown = async (parts: Parts): Promise<void> => {
  const { app, stores, openRequests, openSockets } = parts
  app.server.close()
  await openRequests.drain(limits.drainTimeoutMs)
  const closing = app.close()
  openSockets.end()
  await closing
  await stopBackground(parts)
  await stores.close()
}

const listen = async ({ app }: Parts, options: ServerOptions): Promise<number> => {
  await app.listen({ port: options.port ?? 0, host: bindAddressOf(options) })
  return (app.server.address() as AddressInfo).port
}

/** What a server writes about itself when it knows its port. */
const publish = async (parts: Parts, options: ServerOptions, port: number): Promise<void> => {
  const { stores, postStartHooks } = parts
  const ip = advertiseAddress(bindAddressOf(options))
  const deps = bootstrapDeps(options, stores, options.clock ?? systemClock)
  await publishKubernetesService(deps, { ip, port })
  postStartHooks.finish('bootstrap-controller', 'peer-endpoint-reconciler-controller')
  const lease = await holdIdentityLease({
    stores: (resource) => stores.ofResource(resource),
    clock: options.clock ?? systemClock,
    log: (message, error) => parts.logger.warn({ err: error }, message),
    hostname: hostname(),
    peerAddress: `${ip}:${port}`,
  })
  parts.background.unshift(lease)
  postStartHooks.finish(
    'start-kube-apiserver-identity-lease-controller',
    'start-kube-apiserver-identity-lease-garbage-collector',
  )
  await repairAddresses(deps)
  postStartHooks.finish('start-service-ip-repair-controllers')
}

/** A server that cannot listen, or cannot tell of itself, leaves nothing open. */
export const createServer = async (options: ServerOptions = {}): Promise<Server> => {
  const parts = await assemble(options)
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= shutDown(parts)
    return closed
  }
  try {
    await publish(parts, options, await listen(parts, options))
    const url = urlOf(parts.app, bindAddressOf(options))
    const { caPem, admin, adminToken } = parts.credentials
    const kubeconfig = formatKubeconfig({ url, caPem, ...admin, token: adminToken })
    if (options.kubeconfigOut !== undefined) writePrivateFile(options.kubeconfigOut, kubeconfig)
    return { url, kubeconfig, adminToken, caPem, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}
