/**
 * The objects that every cluster has: system namespaces, RBAC, priority classes, flow control, APIServices, the default
 * ServiceCIDR, ConfigMaps of kube-system, the `kubernetes` Service. What is there already is left as it is, but for what
 * RBAC and flow control miss, so a later start mostly reads.
 */

import { formatTime } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import { cloneJson, jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { bootstrapObjects } from '#openapi/schemas.js'
import { decodeObject } from '#registry/decode.js'
import { internalContext } from '#registry/internal-context.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import { managedLabel } from '../../aggregator/api-service.js'
import { applyConditions, type FieldManagerOf } from '../apply-conditions.js'
import type { ClientTrust } from '../credentials/client-trust.js'
import { readOrNone } from '../read-or-none.js'
import { serviceCidrsOf } from '../service-range.js'
import { unlessRefused, untilStored } from '../until-stored.js'
import { dataOf, type KeptConfigMap, keptConfigMaps } from './config-maps.js'
import { isStale, revised } from './flow-control-objects.js'
import { completed, hasOtherRole, isProtected } from './rbac-objects.js'

interface ObjectDeps {
  readonly stores: RequestContext['stores']
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly caller: RequestContext['caller']
}

export interface BootstrapDeps extends ObjectDeps {
  readonly log: (message: string, error: unknown) => void
  /** `10.0.0.0/24`, or two with a comma. */
  readonly serviceClusterIpRange: string
  readonly fieldManagerOf: FieldManagerOf
  /** Whether anything of a version is served, by the name of its APIService: `v1.apps`. */
  isServed(name: string): boolean
}

const namespacesPath = '/api/v1/namespaces'
const cidrsPath = '/apis/networking.k8s.io/v1/servicecidrs'
const configMapsPath = '/api/v1/namespaces/kube-system/configmaps'
const apiServicesPath = '/apis/apiregistration.k8s.io/v1/apiservices'
export const servicePath = '/api/v1/namespaces/default/services'
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const rbacPaths = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map(
  (resource) => `${rbac}/${resource}`,
)
const flowControl = '/apis/flowcontrol.apiserver.k8s.io/v1'
const flowControlManager = 'api-priority-and-fairness-config-producer-v1'
/** Field managers that differ from the server's own, as upstream's. */
const managers: Readonly<Record<string, string>> = {
  [`${flowControl}/flowschemas`]: flowControlManager,
  [`${flowControl}/prioritylevelconfigurations`]: flowControlManager,
}

/** `/apis/apps/v1/namespaces/x/deployments` → apps, deployments. */
const resourceOf = (path: string): { group: string; resource: string } => {
  const parts = path.split('/')
  return { group: parts[1] === 'api' ? '' : parts[2]!, resource: parts[parts.length - 1]! }
}

const storeOf = ({ stores }: ObjectDeps, path: string): Store => {
  const store = stores(resourceOf(path))
  if (store === undefined) throw new Error(`no store for ${path}`)
  return store
}

const known = (store: Store, ctx: RequestContext, name: string): Promise<KubeObject | undefined> =>
  readOrNone(store, ctx, name, { kind: 'any' })

/** How long another server may take between allocating a Service's address and writing the Service. */
const otherServerMs = 2_000
const lookAgainMs = 50

const appears = async (store: Store, ctx: RequestContext, name: string): Promise<boolean> => {
  for (let waited = 0; waited < otherServerMs; waited += lookAgainMs) {
    if ((await known(store, ctx, name)) !== undefined) return true
    await sleep(lookAgainMs)
  }
  return false
}

/** Another server may have made the object already, or have allocated its address and be about to make it. */
const createUnlessTaken = async (
  store: Store,
  ctx: RequestContext,
  object: KubeObject,
): Promise<boolean> => {
  try {
    await store.create(ctx, object)
    return true
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status.reason === 'AlreadyExists') return false
    if (error.status.reason === 'Invalid' && (await appears(store, ctx, object.metadata.name!)))
      return false
    throw error
  }
}

const writeStatus = async (
  store: Store,
  ctx: RequestContext,
  name: string,
  status: JsonObject,
): Promise<void> => {
  const conditions = (status.conditions ?? []) as JsonObject[]
  for (const condition of conditions) condition.lastTransitionTime = formatTime(ctx.now)
  await store.update({ ...ctx, subresource: 'status' }, name, (current) => ({
    ...current!,
    metadata: { ...current!.metadata, managedFields: [...(current!.metadata.managedFields ?? [])] },
    status,
  }))
}

/** Yields the stored object, or undefined if it was created now. */
export const ensure = (
  deps: ObjectDeps,
  path: string,
  body: JsonObject,
): Promise<KubeObject | undefined> => {
  const store = storeOf(deps, path)
  const metadata = body.metadata as { name: string; namespace?: string }
  const internal = internalContext(deps, metadata.namespace)
  const ctx = { ...internal, fieldManager: managers[path] ?? internal.fieldManager }
  // If a try's answer got lost, its object is ours to complete.
  let wasTried = false
  return untilStored(deps.caller, async () => {
    const existing = await known(store, ctx, metadata.name)
    if (existing !== undefined && !wasTried) return existing
    const { object } = decodeObject(store.definition, cloneJson(body))
    const isOurs = wasTried
    wasTried = true
    const created = (await createUnlessTaken(store, ctx, object)) || isOurs
    const conditions = (body.status as JsonObject | undefined)?.conditions
    if (created && conditions !== undefined && store.definition.hasStatus)
      await writeStatus(store, ctx, metadata.name, cloneJson(body.status as JsonObject))
    return created ? undefined : known(store, ctx, metadata.name)
  })
}

/** Creates it, or corrects its data. */
export const keepConfigMap = async (deps: ObjectDeps, map: KeptConfigMap): Promise<void> => {
  const { name, dataFor } = map
  const metadata = { name, namespace: 'kube-system' }
  const existing = await ensure(deps, configMapsPath, { metadata, data: dataFor(undefined)! })
  if (existing === undefined || dataFor(dataOf(existing)) === undefined) return
  const ctx = internalContext(deps, metadata.namespace)
  await untilStored(deps.caller, () =>
    storeOf(deps, configMapsPath).update(ctx, name, (current) => {
      const data = dataFor(dataOf(current!))
      const kept = { ...current!, metadata: { ...current!.metadata } }
      return data === undefined ? kept : { ...kept, data }
    }),
  )
}

const remove = (ctx: RequestContext, store: Store, name: string): Promise<unknown> =>
  untilStored(ctx.caller, async () => {
    if ((await known(store, ctx, name)) !== undefined) await store.delete(ctx, name, {})
  })

/** Writes what `revise` makes of a stored object, if it makes anything of it. */
const keepRevised = async (
  ctx: RequestContext,
  store: Store,
  existing: KubeObject,
  revise: (stored: KubeObject) => KubeObject | undefined,
): Promise<void> => {
  if (revise(existing) === undefined) return
  await untilStored(ctx.caller, () =>
    store.update(ctx, existing.metadata.name!, (current) => {
      const kept = { ...current!, metadata: { ...current!.metadata } }
      return revise(kept) ?? kept
    }),
  )
}

/**
 * Deletes the APIService of a version that is not served, unless somebody else has made it (kube-aggregator,
 * autoregister).
 */
const keepApiService = async (deps: BootstrapDeps, body: JsonObject): Promise<void> => {
  const { name } = body.metadata as { name: string }
  if (deps.isServed(name)) {
    await ensure(deps, apiServicesPath, body)
    return
  }
  const store = storeOf(deps, apiServicesPath)
  const existing = await known(store, internalContext(deps), name)
  if (existing?.metadata.labels?.[managedLabel] === 'onstart')
    await remove(internalContext(deps), store, name)
}

const readyCidr = {
  type: 'Ready',
  status: 'True',
  message: 'Kubernetes default Service CIDR is ready',
} as const

/**
 * If the ServiceCIDR has one range, and it is the first of the two that are configured now, the second is added. Any
 * other stays as it is; one that is as configured is said to be ready (controlplane, defaultservicecidr).
 */
const ensureDefaultCidr = async (deps: BootstrapDeps, body: JsonObject): Promise<void> => {
  const cidrs = serviceCidrsOf(deps.serviceClusterIpRange)
  const { status: _, ...unsaid } = body
  const existing = await ensure(deps, cidrsPath, { ...unsaid, spec: { cidrs } })
  const { name } = body.metadata as { name: string }
  const had: string[] = existing?.spec?.cidrs ?? cidrs
  const [store, ctx] = [storeOf(deps, cidrsPath), internalContext(deps)]
  if (had.length === 1 && cidrs.length === 2 && had[0] === cidrs[0])
    await untilStored(deps.caller, () =>
      store.update(ctx, name, (current) => ({
        ...current!,
        metadata: { ...current!.metadata },
        spec: { ...current!.spec, cidrs },
      })),
    )
  else if (jsonEqual(had, cidrs) && isToBeReady(existing)) {
    const manager = 'kubernetes-service-cidr-controller'
    const { fieldManagerOf } = deps
    await untilStored(deps.caller, () =>
      applyConditions({ store, fieldManagerOf, ctx, manager }, name, [readyCidr]),
    )
  }
}

/** Nobody has said yet whether it is ready, and it does not wait to be removed. */
const isToBeReady = (cidr: KubeObject | undefined): boolean =>
  cidr?.metadata.deletionTimestamp === undefined &&
  !(cidr?.status?.conditions ?? []).some(
    (one: { type: string; status: string }) =>
      one.type === readyCidr.type && one.status !== 'Unknown',
  )

const ensureAll = (deps: BootstrapDeps, path: string): Promise<unknown> =>
  Promise.all((bootstrapObjects()[path] ?? []).map((body) => ensure(deps, path, body)))

const ensureDefaultCidrs = async (deps: BootstrapDeps): Promise<void> => {
  const [defaultCidr] = bootstrapObjects()[cidrsPath] ?? []
  if (defaultCidr !== undefined) await ensureDefaultCidr(deps, defaultCidr)
}

/** Makes again what is missing, puts back what has been changed and is kept up to date, and deletes what is stale. */
const keepFlowControl = async (deps: BootstrapDeps, path: string): Promise<void> => {
  const store = storeOf(deps, path)
  const ctx = { ...internalContext(deps), fieldManager: flowControlManager }
  const made = bootstrapObjects()[path] ?? []
  for (const body of made) {
    const existing = await ensure(deps, path, body)
    if (existing !== undefined)
      await keepRevised(ctx, store, existing, (stored) => revised(stored, cloneJson(body)))
  }
  for (const { object } of (await listAll(store)).items)
    if (isStale(object, made)) await remove(internalContext(deps), store, object.metadata.name!)
}

/** A role or binding that is there gets what it misses; a binding of another role is made anew. */
const keepRbac = async (deps: BootstrapDeps, path: string, body: JsonObject): Promise<void> => {
  const existing = await ensure(deps, path, body)
  if (existing === undefined || isProtected(existing)) return
  const { name, namespace } = existing.metadata
  const [store, ctx] = [storeOf(deps, path), internalContext(deps, namespace)]
  if (hasOtherRole(existing, body)) {
    await remove(ctx, store, name!)
    await ensure(deps, path, body)
  } else await keepRevised(ctx, store, existing, (stored) => completed(stored, cloneJson(body)))
}

/**
 * What is public had no binding of its own before Kubernetes 1.14: a new one gets the subjects, labels and annotations of
 * the binding that it was split from, whoever has changed these.
 */
const splitBinding = { from: 'system:discovery', to: 'system:public-info-viewer' } as const

const ensureSplitBinding = async (deps: BootstrapDeps): Promise<void> => {
  const path = `${rbac}/clusterrolebindings`
  const made = bootstrapObjects()[path] ?? []
  const body = made.find(({ metadata }) => (metadata as JsonObject).name === splitBinding.to)
  const from = await known(storeOf(deps, path), internalContext(deps), splitBinding.from)
  if (body === undefined || from === undefined) return
  const { subjects = null } = from
  const { labels = {}, annotations = {} } = from.metadata
  const metadata = { ...(body.metadata as JsonObject), labels, annotations }
  await ensure(deps, path, { ...body, metadata, subjects })
}

const ensureRbac = async (deps: BootstrapDeps): Promise<void> => {
  await ensureSplitBinding(deps)
  const made = bootstrapObjects()
  await Promise.all(
    rbacPaths.flatMap((path) => (made[path] ?? []).map((body) => keepRbac(deps, path, body))),
  )
}

/** Makes again those that upstream's controllers look after for as long as the server runs. */
export const ensureKept = async (deps: BootstrapDeps): Promise<void> => {
  await ensureAll(deps, namespacesPath)
  await ensureDefaultCidrs(deps)
  for (const path of Object.keys(managers)) await keepFlowControl(deps, path)
}

/** Runs before the server listens. Rejects if an object can be neither read nor created. */
export const ensureBootstrap = async (deps: BootstrapDeps, trust: ClientTrust): Promise<void> => {
  const objects = bootstrapObjects()
  await ensureAll(deps, namespacesPath)
  await ensureDefaultCidrs(deps)
  const apart = [namespacesPath, cidrsPath, servicePath, apiServicesPath, ...rbacPaths]
  const later = Object.keys(objects).filter((path) => !apart.includes(path))
  const maps = keptConfigMaps(trust, deps.now)
  const keep = (map: KeptConfigMap) =>
    unlessRefused(deps.log, `ConfigMap ${map.name}`, () => keepConfigMap(deps, map))
  const apiServices = (objects[apiServicesPath] ?? []).map((body) => keepApiService(deps, body))
  await Promise.all([
    ensureRbac(deps),
    ...later.map((path) => ensureAll(deps, path)),
    ...apiServices,
    ...maps.map(keep),
  ])
}
