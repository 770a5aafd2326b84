/** All routes of the port, in the order in which they are tried. */
import type { FastifyInstance } from 'fastify'
import { buildInfo, buildLabels } from '#api/build-info.js'
import type { OpenRequests } from '#filters/open-requests.js'
import { FlowDumps } from '#flowcontrol/dumps.js'
import { flowControlMetrics } from '#flowcontrol/metrics.js'
import { limits } from '#limits'
import { HealthResults } from '#metrics/health-results.js'
import { describeSchema, fieldDocsVersion } from '#openapi/field-docs.js'
import { packageVersion } from '#program/package-version.js'
import type { ApiDeps } from '#routes/api-deps.js'
import { installDiscovery } from '#routes/discovery/discovery.js'
import { installFlowControlDumps } from '#routes/flow-control-dumps.js'
import { installHealthz } from '#routes/healthz.js'
import { installApi } from '#routes/installer.js'
import { installBackup } from '#routes/kubelevel/backup.js'
import { installClock } from '#routes/kubelevel/clock.js'
import { installFaults } from '#routes/kubelevel/faults.js'
import { installSnapshots } from '#routes/kubelevel/snapshots.js'
import { installMetrics } from '#routes/metrics/metrics.js'
import type { RequestMetrics } from '#routes/metrics/request-metrics.js'
import { installOpenApi, type OwnDocuments } from '#routes/openapi/openapi.js'
import { installOpenId } from '#routes/openid.js'
import { installRoot } from '#routes/root.js'
import { installVersion } from '#routes/version.js'
import { installZPages } from '#routes/z-pages.js'
import { proxyAggregated } from '#src/aggregator/proxy.js'
import type { Controllers } from '../controllers.js'
import { kubeletAccess } from '../credentials/identity.js'
import { healthChecks } from '../health-checks.js'
import type { ServerOptions } from '../options.js'
import type { ServerState } from '../server-state.js'
import { storedSizes } from '../stored-sizes.js'
import { routeUpgrades } from './upgrades.js'

interface Served {
  readonly state: ServerState
  readonly controllers: Controllers
  readonly openRequests: OpenRequests
  readonly requests: RequestMetrics
  /** May be called once the server listens. */
  readonly publicUrl: () => string
}

/** Routes about the server itself: health, metrics, version and the like. */
const installStatus = (app: FastifyInstance, served: Served, options: ServerOptions): void => {
  const { state, controllers, openRequests, requests } = served
  const { stores, logger, featureGates } = state
  const { flowControl } = controllers
  const checks = healthChecks({
    stores,
    openRequests,
    postStartHooks: state.postStartHooks,
    encryption: state.encryption,
    healthTimeoutMs: options.etcdHealthcheckTimeoutMs ?? limits.healthCheckTimeoutMs,
    readyTimeoutMs: options.etcdReadycheckTimeoutMs ?? limits.healthCheckTimeoutMs,
  })
  const results = new HealthResults()
  const warn = (about: object, problem: string): void => logger.warn(about, problem)
  installHealthz(app, checks, { warn, results })
  installRoot(app, state.served, controllers.aggregator, checks)
  installBackup(app, () => stores.backupText())
  installSnapshots(app, state.snapshots)
  installFaults(app, state.faults)
  installClock(app, state.clock)
  const build = buildInfo(options.gitVersion)
  installMetrics(app, {
    requests,
    health: results,
    inFlight: state.inFlight,
    flowControl: flowControl === undefined ? [] : flowControlMetrics(flowControl),
    build: buildLabels(build),
    sizes: () => storedSizes(state.served, stores),
    apiServices: controllers.aggregator,
    audit: state.audit?.figures,
    families: [
      ...state.encryptionFigures.families,
      ...state.access.families,
      ...state.webhookFigures.families,
      ...controllers.queues.families,
    ],
    features: () => featureGates.all,
    disabled: options.disabledMetrics ?? [],
  })
  if (flowControl !== undefined) installFlowControlDumps(app, new FlowDumps(flowControl))
  installVersion(app, build)
  const startedAt = state.clock.now()
  installZPages(
    app,
    { startedAt, build, flags: options.flags ?? {} },
    {
      '/statusz': featureGates.enabled('ComponentStatusz'),
      '/flagz': featureGates.enabled('ComponentFlagz'),
    },
  )
}

const documentPrefix = '/openapi/v3/'

/** As in the index of OpenAPI, this server's own wins. */
const isOfOwnDocument = (path: string, documents: OwnDocuments): boolean =>
  path.startsWith(documentPrefix) && documents.has(path.slice(documentPrefix.length))

export const installRoutes = (
  app: FastifyInstance,
  served: Served,
  options: ServerOptions,
): void => {
  const { served: table, stores, clock, fieldManagerOf, logger, access, credentials } = served.state
  const { aggregator, customResources } = served.controllers
  const upgradeOf = routeUpgrades(app)
  // Before every route: requests for aggregated APIs go to another server.
  const find = (path: string) =>
    isOfOwnDocument(path, openApi) ? undefined : aggregator.find(path)
  proxyAggregated(app, { find, backends: aggregator.backends, upgradeOf })
  installStatus(app, served, options)
  const { externalHostname } = options
  const externalAddress = () => new URL(served.publicUrl()).host
  installDiscovery(app, table, aggregator, externalHostname ? externalAddress : undefined)
  const openApi = installOpenApi(app, {
    source: table,
    remote: aggregator,
    build: `${packageVersion()} ${fieldDocsVersion()}`,
    describe: describeSchema,
  })
  const report: ApiDeps['report'] = (about, message) => logger.error(about, message)
  const { minRequestTimeoutSeconds: seconds } = options
  installApi(app, {
    table,
    stores,
    clock,
    fieldManagerOf,
    report,
    upgradeOf,
    watchTimeoutMinMs: seconds === undefined ? limits.watchTimeoutMinMs : seconds * 1000,
    kubelets: kubeletAccess(options, credentials),
    authorizeCreate: access.authorizeCreate,
    lookAgain: customResources.lookAgain,
  })
  const keysUrl = () => options.serviceAccountJwksUri ?? `${served.publicUrl()}/openid/v1/jwks`
  installOpenId(app, access.tokens, keysUrl)
}
