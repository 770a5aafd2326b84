/** What a server knows and stores: everything that controllers and routes share. */
import type https from 'node:https'
import pino, { type Logger } from 'pino'
import { type AdmissionOptions, makeAdmission } from '#admission/chain.js'
import { WebhookFigures } from '#admission/webhooks/webhook-figures.js'
import { steadyClock, systemClock } from '#api/clock.js'
import { customResourceDefinition } from '#crd/definition/definition-kind.js'
import { Faults } from '#filters/faults.js'
import { InFlight } from '#flowcontrol/in-flight.js'
import { NodePorts, rangesPrefix } from '#kinds/core/node-ports.js'
import type { Admission } from '#registry/admission.js'
import type { FieldManager } from '#registry/field-manager/field-manager.js'
import { makeFieldManagers } from '#registry/field-manager/make-field-managers.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { makeResourceTable, type ResourceTable } from '#registry/resource-table.js'
import { servedTable } from '#registry/served-table.js'
import { EncryptionFigures } from '#storage/encrypted/figures.js'
import { webhookAgent } from '#webhook/webhook-agent.js'
import { type Access, openAccess } from './access.js'
import { readAdmissionSettings } from './admission/admission-settings.js'
import { type Audit, openAudit } from './audit/audit-log.js'
import { answerExpressions, authorizeSigner } from './authorization/admission-authorizers.js'
import { type BootstrapDeps, ensureBootstrap } from './bootstrap/bootstrap.js'
import { ClusterClock } from './cluster-clock.js'
import { configuredKinds } from './configured-kinds.js'
import { type FollowedTrust, openClientTrust } from './credentials/client-trust.js'
import type { ServerCredentials } from './credentials/credentials.js'
import { credentialsOf } from './credentials/identity.js'
import type { EncryptionDeps, OpenedEncryption } from './encryption/open-encryption.js'
import { FeatureGates, type SwitchedGate } from './feature-gates.js'
import { type ServerOptions, serviceClusterIpRangeOf } from './options.js'
import { PostStartHooks } from './post-start-hooks.js'
import { openRegistryStores, type RegistryStores } from './registry-stores.js'
import { readRuntimeConfig } from './runtime-config.js'
import { nodePortRangeOf } from './service-range.js'
import { Snapshots } from './snapshots.js'
import type { StartedParts } from './started-parts.js'

export interface ServerState {
  readonly clock: ClusterClock
  readonly logger: Logger
  /** Logs a warning. */
  readonly log: (message: string, error?: unknown) => void
  readonly credentials: ServerCredentials
  readonly trust: FollowedTrust
  readonly access: Access
  /** Rows of everything that is stored. */
  readonly table: ResourceTable
  /** Those rows that are served. */
  readonly served: ResourceTable
  readonly featureGates: FeatureGates
  readonly fieldManagerOf: (definition: ResourceDefinition) => FieldManager
  readonly stores: RegistryStores
  readonly snapshots: Snapshots
  readonly faults: Faults
  readonly nodePorts: NodePorts
  readonly webhookAgent: https.Agent
  readonly postStartHooks: PostStartHooks
  readonly inFlight: InFlight
  /** Undefined if nothing is audited. */
  readonly audit: Audit | undefined
  /** Undefined if nothing is encrypted. */
  readonly encryption: OpenedEncryption | undefined
  readonly encryptionFigures: EncryptionFigures
  readonly webhookFigures: WebhookFigures
}

/** Plugins that do nothing without their feature gate. */
const pluginsOfGates: Partial<Record<SwitchedGate, string>> = {
  MutatingAdmissionPolicy: 'MutatingAdmissionPolicy',
  PodTopologyLabelsAdmission: 'PodTopologyLabels',
}

const admissionPluginsOf = async (
  options: ServerOptions,
  featureGates: FeatureGates,
  started: StartedParts,
): Promise<AdmissionOptions> => {
  const { enableAdmissionPlugins: enabled, disableAdmissionPlugins = [] } = options
  const gated = Object.entries(pluginsOfGates).filter(
    ([gate]) => !featureGates.enabled(gate as SwitchedGate),
  )
  const disabled = [...disableAdmissionPlugins, ...gated.map(([, plugin]) => plugin)]
  const taking = { enabled, disabled }
  const read = await readAdmissionSettings(options.admissionControlConfigFile, taking, started)
  const DefaultTolerationSeconds = {
    notReady: options.defaultNotReadyTolerationSeconds,
    unreachable: options.defaultUnreachableTolerationSeconds,
  }
  return { ...taking, settings: { ...read, DefaultTolerationSeconds } }
}

/** `v1.apps`, as APIServices are called. */
const isServedVersion = (served: ResourceTable, name: string): boolean => {
  for (const { gvr } of served) if (`${gvr.version}.${gvr.group}` === name) return true
  return false
}

const admissionOf = (
  plugins: AdmissionOptions,
  { authorizer }: Access,
  table: ResourceTable,
): Admission =>
  makeAdmission({
    ...plugins,
    authorizeSigner: authorizeSigner(authorizer),
    authorize: answerExpressions(authorizer),
    equivalentsOf: (definition) => table.equivalentsOf(definition),
    resourceOfKind: (kind) => {
      const row = table.byKind(kind)
      return row === undefined ? undefined : { ...row.gvr, namespaced: row.namespaced }
    },
  })

/** The module is loaded only if encryption is configured. */
const encryptionOf = async (
  { encryption }: ServerOptions,
  deps: { table: ResourceTable } & Omit<EncryptionDeps, 'resourceOf'>,
  started: StartedParts,
): Promise<OpenedEncryption | undefined> => {
  if (encryption === undefined) return undefined
  const { openEncryption } = await import('./encryption/open-encryption.js')
  const { resourceOfKeys } = await import('./encryption/resource-of-key.js')
  return openEncryption(encryption, { ...deps, resourceOf: resourceOfKeys(deps.table) }, started)
}

export const bootstrapDeps = (
  options: ServerOptions,
  {
    stores,
    clock,
    log,
    served,
    fieldManagerOf,
  }: Pick<ServerState, 'stores' | 'clock' | 'log' | 'served' | 'fieldManagerOf'>,
): BootstrapDeps => ({
  log,
  fieldManagerOf,
  stores: (resource) => stores.ofResource(resource),
  now: clock.now(),
  caller: new AbortController(),
  serviceClusterIpRange: serviceClusterIpRangeOf(options),
  isServed: (name) => isServedVersion(served, name),
})

/** Without --runtime-config everything is served, and the served table is the whole one. */
const servedOf = (
  table: ResourceTable,
  options: ServerOptions,
  log: (message: string) => void,
): ResourceTable => {
  const { runtimeConfig } = options
  if (runtimeConfig === undefined) return table
  const builtIn = [...table].map(({ gvr }) => gvr)
  const { absent, isServed } = readRuntimeConfig(runtimeConfig, options, builtIn)
  for (const key of absent) log(`runtime-config: there is nothing of ${key} to be turned on`)
  return servedTable(table, ({ gvr, isCustom }) => isCustom || isServed(gvr))
}

const loggerOf = ({ logLevel = 'warn' }: ServerOptions): Logger =>
  pino({ level: logLevel }, pino.destination({ dest: 2, sync: true }))

/**
 * Opens the state and creates the objects that every cluster has. All files that the options name are read first,
 * before anything is opened.
 */
export const openServerState = async (
  options: ServerOptions,
  started: StartedParts,
): Promise<ServerState> => {
  const clock = new ClusterClock(options.clock ?? systemClock)
  const logger = loggerOf(options)
  const log = (message: string, error?: unknown) => logger.warn({ err: error }, message)
  const credentials = credentialsOf(options, clock)
  const trust = openClientTrust(options, credentials, log, started)
  const audit = options.audit && (await openAudit(options.audit, { clock, warn: log }, started))
  const featureGates = new FeatureGates(options.featureGates)
  for (const name of featureGates.ignored) log(`feature gate ${name} is as it is by default`)
  const plugins = await admissionPluginsOf(options, featureGates, started)
  const access = await openAccess(options, { credentials, clock, warn: log }, started)
  const ofWebhooks = webhookAgent()
  started.defer(async () => ofWebhooks.destroy())
  const nodePorts = new NodePorts(nodePortRangeOf(options))
  const table = makeResourceTable(
    access.withAccess([...configuredKinds(options, nodePorts), customResourceDefinition]),
  )
  const served = servedOf(table, options, log)
  const fieldManagerOf = makeFieldManagers(table)
  const webhookFigures = new WebhookFigures()
  const encryptionFigures = new EncryptionFigures(() => clock.now())
  const ofEncryption = { table, clock, figures: encryptionFigures, warn: log }
  const encryption = await encryptionOf(options, ofEncryption, started)
  const stores = await openRegistryStores({
    encryption,
    storage: options.storage ?? 'memory:',
    table,
    admission: admissionOf({ ...plugins, webhookAgent: ofWebhooks, webhookFigures }, access, table),
    fieldManagerOf,
    clock,
    steadyClock: clock.beside(options.clock ?? steadyClock),
    log,
  })
  started.defer(() => stores.close())
  access.connect(stores, served)
  const ranges = stores.sharedStorage(rangesPrefix)
  if (ranges !== undefined) nodePorts.share(ranges)
  const postStartHooks = new PostStartHooks(
    options.priorityAndFairness === false
      ? ['priority-and-fairness-config-consumer', 'priority-and-fairness-filter']
      : ['max-in-flight-filter'],
  )
  postStartHooks.finish(
    'start-apiserver-admission-initializer',
    'storage-object-count-tracker-hook',
    'storage-readiness',
  )
  await ensureBootstrap(
    bootstrapDeps(options, { stores, clock, log, served, fieldManagerOf }),
    trust.current,
  )
  postStartHooks.finish(
    'start-system-namespaces-controller',
    'rbac/bootstrap-roles',
    'scheduling/bootstrap-system-priority-classes',
    'priority-and-fairness-config-producer',
    'start-kubernetes-service-cidr-controller',
  )
  return {
    clock,
    logger,
    log,
    credentials,
    trust,
    access,
    table,
    served,
    featureGates,
    fieldManagerOf,
    stores,
    snapshots: new Snapshots(stores),
    faults: new Faults(),
    nodePorts,
    webhookAgent: ofWebhooks,
    postStartHooks,
    inFlight: new InFlight(performance.now()),
    audit,
    encryption,
    encryptionFigures,
    webhookFigures,
  }
}
