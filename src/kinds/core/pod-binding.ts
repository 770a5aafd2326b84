/** Binding: gives a pod its node, once (kubernetes, core/pod/storage). */
import { aggregateMessage, badRequest, conflict, failure, notFound } from '#api/errors.js'
import { type FieldError, notSupported, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import type { JsonObject } from '#json/value.js'
import { checkPreconditions } from '#registry/preconditions.js'
import type { RequestContext, ValidateAdmission } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import { setPodCondition } from './pod-condition.js'

const pods = { group: '', resource: 'pods' }
const bindingResource = { group: '', resource: 'pods/binding' }

const validate = (body: KubeObject): FieldError[] => {
  const { kind = '', name = '' } = body.target ?? {}
  const errors: FieldError[] = []
  if (kind !== '' && kind !== 'Node')
    errors.push(notSupported('target.kind', kind, ['Node', '<empty>']))
  if (name === '') errors.push(required('target.name'))
  return errors
}

/** Upstream returns these as a plain error: a 500 with only a message. */
const refuse = (errors: readonly FieldError[]): never => {
  throw failure({ code: 500, message: aggregateMessage(errors) })
}

const bind = (pod: KubeObject, body: KubeObject, now: number): void => {
  const name = pod.metadata.name ?? ''
  const fail = (why: string) => conflict(bindingResource, name, why)
  if (pod.metadata.deletionTimestamp !== undefined)
    throw fail(`pod ${name} is being deleted, cannot be assigned to a host`)
  if (pod.spec.nodeName)
    throw fail(`pod ${name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`)
  if ((pod.spec.schedulingGates ?? []).length > 0)
    throw fail(`pod ${name} has non-empty .spec.schedulingGates`)
  pod.spec.nodeName = body.target.name
  // The Pod has its node now, so its nomination goes; upstream: ClearingNominatedNodeNameAfterBinding.
  delete pod.status?.nominatedNodeName
  const { annotations, labels } = body.metadata
  if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations }
  if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels }
  setPodCondition(pod, { type: 'PodScheduled', status: 'True' }, now)
}

interface Binding {
  readonly store: Store
  readonly body: KubeObject
  readonly admit: ValidateAdmission
}

const assign = async (
  { store, body, admit }: Binding,
  ctx: RequestContext,
): Promise<JsonObject> => {
  const errors = validate(body)
  if (errors.length > 0) refuse(errors)
  await admit()
  const name = body.metadata.name ?? ''
  const { uid, resourceVersion } = body.metadata
  const given = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) }
  await store.changeStored(ctx, name, (pod) => {
    checkPreconditions(given, pod, { definition: store.definition, ctx, name })
    bind(pod, body, ctx.now)
  })
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
}

/** POST …/pods/x/binding */
export const createBinding = async (
  { name, ...binding }: Binding & { name: string },
  ctx: RequestContext,
): Promise<{ code: number; object: JsonObject }> => {
  if ((binding.body.metadata.name ?? '') !== name)
    throw badRequest('name in URL does not match name in Binding object')
  return { code: 201, object: await assign(binding, ctx) }
}

/** POST …/bindings: the old way, with the name in the body alone. */
export const createBindingByName = async (
  { body, admit }: Pick<Binding, 'body' | 'admit'>,
  ctx: RequestContext,
): Promise<JsonObject> => {
  const store = ctx.stores(pods)
  if (store === undefined) throw notFound(pods, body.metadata.name ?? '')
  return assign({ store, body, admit }, ctx)
}
