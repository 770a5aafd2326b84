/** Eviction: a delete that a disruption budget may refuse (kubernetes, core/pod/storage). */

import { formatTime } from '#api/clock.js'
import { conditionOf, isConditionTrue, putCondition } from '#api/conditions.js'
import {
  ApiError,
  badRequest,
  conflictOfKind,
  failure,
  forbidden,
  invalid,
  timeout,
  tooManyRequests,
} from '#api/errors.js'
import { invalid as invalidField } from '#api/field-error.js'
import { matchesSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import type { StatusCause } from '#api/status.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { beforeUpdate, statusHooks } from '#registry/before-update.js'
import { listAll } from '#registry/list-all.js'
import type {
  DeleteOptions,
  RequestContext,
  ValidateAdmission,
} from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import { setPodCondition } from './pod-condition.js'

const budgets = { group: 'policy', resource: 'poddisruptionbudgets' }
const violation = "Cannot evict pod as it would violate the pod's disruption budget."
const retrySeconds = 10

const evicted: { code: number; object: JsonObject } = {
  code: 201,
  object: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
}

const refusal = (message: string, retryAfterSeconds: number): ApiError => {
  const error = tooManyRequests(violation, retryAfterSeconds)
  const cause: StatusCause = { reason: 'DisruptionBudget', message }
  error.status.details = { causes: [cause], ...error.status.details }
  return error
}
const notObserved = (name: string): ApiError =>
  refusal(`The disruption budget ${name} is still being processed by the server.`, retrySeconds)

const unsafeOption = 'ignoreStoreReadErrorWithClusterBreakingPotential'

/** Throws 422. Elsewhere the gate of this option drops it; here it is refused whatever the gate says. */
const refuseUnsafe = (name: string, options: DeleteOptions | undefined): void => {
  if (options?.[unsafeOption] !== true) return
  throw invalid({ group: 'policy', kind: 'Eviction' }, name, [
    invalidField(
      `deleteOptions.${unsafeOption}`,
      true,
      'can not be set for pod eviction, try after removing the option',
    ),
  ])
}

/** dryRun may stand in the query and in the body, but not differ. */
const deleteOptionsOf = (body: KubeObject, dryRun: boolean): DeleteOptions => {
  const {
    kind: _kind,
    apiVersion: _version,
    ...options
  } = (body.deleteOptions ?? {}) as DeleteOptions & Record<string, unknown>
  const inBody = options.dryRun ?? []
  if (inBody.length === 0) return dryRun ? { ...options, dryRun: ['All'] } : options
  if (dryRun && !(inBody.length === 1 && inBody[0] === 'All'))
    throw failure({
      code: 500,
      message: `Non-matching dry-run options in request and content: [All] and [${inBody.join(' ')}]`,
    })
  return options
}

const isFinished = ({ status, metadata }: KubeObject): boolean =>
  isTerminalPhase(status?.phase) || metadata.deletionTimestamp !== undefined

/** Why the budget allows no disruption, as far as the budget itself says. */
const exhaustedMessage = (budget: KubeObject): string => {
  const name = budget.metadata.name ?? ''
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {}
  const { status, reason, message } = conditionOf(budget, 'DisruptionAllowed') ?? {}
  const isTold = status === 'False' && message
  const head = `The disruption budget ${name} does not allow evicting pods currently`
  // First: a budget that could not be computed has no meaningful numbers.
  if (isTold && reason === 'SyncFailed') return `${head} because it failed sync: ${message}`
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
  return isTold ? `${head} (${reason}): ${message}` : head
}

const checkBudget = (budget: KubeObject): void => {
  const name = budget.metadata.name ?? ''
  const status = budget.status ?? {}
  const resource = { group: 'policy', resource: 'poddisruptionbudget' }
  if ((status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)) throw notObserved(name)
  if ((status.disruptionsAllowed ?? 0) < 0)
    throw forbidden(resource, name, 'pdb disruptions allowed is negative')
  if (Object.keys(status.disruptedPods ?? {}).length > limits.disruptedPodsMax)
    throw forbidden(
      resource,
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    )
  if ((status.disruptionsAllowed ?? 0) === 0) throw refusal(exhaustedMessage(budget), 0)
}

/** One disruption less, and the pod noted down so that the disruption controller does not count it as healthy. */
const decrement = (budget: KubeObject, podName: string, now: number): KubeObject => {
  checkBudget(budget)
  const status = { ...budget.status }
  const time = formatTime(now)
  status.disruptionsAllowed -= 1
  if (status.disruptionsAllowed === 0) {
    const before = conditionOf(budget, 'DisruptionAllowed')
    const exhausted = {
      type: 'DisruptionAllowed',
      status: 'False',
      observedGeneration: status.observedGeneration,
      lastTransitionTime: before?.status === 'False' ? before.lastTransitionTime : time,
      reason: 'InsufficientPods',
      message: '',
    }
    status.conditions = putCondition(status.conditions ?? [], exhausted)
  }
  status.disruptedPods = { ...status.disruptedPods, [podName]: time }
  return { ...budget, metadata: { ...budget.metadata }, status }
}

const budgetsOf = async (pod: KubeObject, ctx: RequestContext): Promise<KubeObject[]> => {
  const store = ctx.stores(budgets)
  if (store === undefined) return []
  const { namespace = '' } = pod.metadata
  return (await listAll(store, namespace)).items
    .map((stored) => stored.object)
    .filter((budget) => matchesSelector(budget.spec?.selector, pod.metadata.labels))
}

/** An unready pod disrupts nothing while the others suffice, or when the budget says so (its unhealthyPodEvictionPolicy). */
const countsNot = (pod: KubeObject, budget: KubeObject): boolean => {
  if (isConditionTrue(pod, 'Ready')) return false
  if (budget.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {}
  return currentHealthy >= desiredHealthy && desiredHealthy > 0
}

interface Eviction {
  readonly store: Store
  readonly ctx: RequestContext
  readonly name: string
  readonly options: DeleteOptions
}

/** The same texts as a delete's own check, before the condition is written. */
const checkPreconditions = ({ metadata }: KubeObject, options: DeleteOptions): void => {
  const { uid, resourceVersion } = options.preconditions ?? {}
  const fail = (why: string) => {
    throw conflictOfKind({ group: '', kind: 'Pod' }, metadata.name ?? '', why)
  }
  if (uid && uid !== metadata.uid)
    fail(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion && resourceVersion !== metadata.resourceVersion)
    fail(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    )
}

/** The condition goes first, so that everyone can see why the pod ends; a precondition moves on with our own write. */
const remove = async ({ store, ctx, name, options }: Eviction): Promise<void> => {
  let asked = options
  const dryRun = (options.dryRun ?? []).length > 0
  if (!dryRun) {
    const { definition } = store
    const hooks = statusHooks(definition)
    const stored = await store.changeStored(ctx, name, (pod, current) => {
      checkPreconditions(pod, options)
      setPodCondition(
        pod,
        {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'EvictionByEvictionAPI',
          message: 'Eviction API: evicting',
        },
        ctx.now,
      )
      // Bindings write labels that nobody checks, and an update of a Pod refuses.
      beforeUpdate(pod, current.object, { definition, hooks, ctx, mayBumpGeneration: false })
    })
    if (options.preconditions?.resourceVersion !== undefined)
      asked = {
        ...options,
        preconditions: {
          ...options.preconditions,
          resourceVersion: stored.object.metadata.resourceVersion ?? '',
        },
      }
  }
  await store.deleteAdmitted({ ...ctx, subresource: '', dryRun }, name, asked)
}

const withVersion = (options: DeleteOptions, pod: KubeObject): DeleteOptions => ({
  ...options,
  preconditions: {
    ...options.preconditions,
    resourceVersion: pod.metadata.resourceVersion ?? '',
  },
})

const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.reason === 'Conflict'

/** Removes a Pod that no budget guards. Yields the Pod if a budget has to be asked. */
const removeUnguarded = async (eviction: Eviction): Promise<KubeObject | undefined> => {
  const { store, ctx, name, options } = eviction
  const given = options.preconditions?.resourceVersion !== undefined
  for (let attempt = 1; ; attempt++) {
    const pod = (await store.get(ctx, name)).object
    const finished = isFinished(pod)
    if (!finished && pod.status?.phase !== 'Pending') return pod
    try {
      const asked = finished || given ? options : withVersion(options, pod)
      await remove({ ...eviction, options: asked })
      return undefined
    } catch (error) {
      if (given || !isConflict(error) || attempt === limits.evictionAttemptsMax) throw error
    }
  }
}

const spend = async (budget: KubeObject, { ctx, name, options }: Eviction): Promise<void> => {
  if ((options.dryRun ?? []).length > 0) {
    checkBudget(budget)
    return
  }
  const budgetName = budget.metadata.name ?? ''
  const store = ctx.stores(budgets)!
  const own: RequestContext = {
    ...ctx,
    subresource: 'status',
    kind: undefined,
    dryRun: false,
    fieldManager: 'kube-apiserver',
  }
  for (let attempt = 1; attempt <= limits.evictionAttemptsMax; attempt++)
    try {
      await store.update(own, budgetName, (current) => decrement(current!, name, ctx.now))
      return
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  throw timeout(
    `couldn't update PodDisruptionBudget ${JSON.stringify(budgetName)} due to conflicts`,
    retrySeconds,
  )
}

const tooManyBudgets: JsonObject = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message:
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  code: 500,
}

/** POST …/pods/x/eviction */
export const createEviction = async (
  {
    name,
    body,
    store,
    admit,
  }: { name: string; body: KubeObject; store: Store; admit: ValidateAdmission },
  ctx: RequestContext,
): Promise<{ code: number; object: JsonObject }> => {
  if ((body.metadata.name ?? '') !== name)
    throw badRequest('name in URL does not match name in Eviction object')
  refuseUnsafe(name, body.deleteOptions as DeleteOptions | undefined)
  const eviction: Eviction = { store, ctx, name, options: deleteOptionsOf(body, ctx.dryRun) }
  await admit()
  const pod = await removeUnguarded(eviction)
  if (pod === undefined) return evicted
  const [budget, another] = await budgetsOf(pod, ctx)
  if (another !== undefined) return { code: 500, object: tooManyBudgets }
  if (budget !== undefined && countsNot(pod, budget)) {
    try {
      await remove({ ...eviction, options: withVersion(eviction.options, pod) })
    } catch (error) {
      const given = eviction.options.preconditions?.resourceVersion !== undefined
      throw isConflict(error) && !given ? notObserved(budget.metadata.name ?? '') : error
    }
    return evicted
  }
  if (budget !== undefined) await spend(budget, eviction)
  await remove(eviction)
  return evicted
}
