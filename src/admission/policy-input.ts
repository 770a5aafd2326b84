/** What a policy is evaluated on: whether it is meant, its parameters, the values of its names (apiserver, pkg/admission/plugin/policy/generic). */
import { randomUUID } from 'node:crypto'
import { type GroupResource, type GroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import { matchesSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import type { Authorize } from './cel.js'
import { findNamespace, findObject, isAboutNamespace, listObjects, whenKnown } from './plugin.js'
import { admissionRequest, matchesRequest } from './request-match.js'
import { type EquivalentsOf, inVersion, type VersionedRequest } from './versioned-request.js'

/** The resource behind a kind; undefined for an unknown one. */
export type ResourceOfKind = (
  kind: GroupVersionKind,
) => (GroupResource & { namespaced: boolean }) | undefined

/** What policies ask of the server beside its objects. */
export interface PolicyMeans {
  readonly resourceOfKind: ResourceOfKind
  readonly authorize: Authorize
  readonly equivalentsOf: EquivalentsOf
}

export interface BoundPolicy {
  readonly policy: KubeObject
  readonly binding: KubeObject
}

/** The policies of a kind with their bindings, in the order of the bindings' names. */
export const boundPolicies = (
  { ctx }: AdmissionAttributes,
  policies: GroupResource,
  bindings: GroupResource,
): readonly BoundPolicy[] | Promise<readonly BoundPolicy[]> =>
  whenKnown(listObjects(ctx, bindings), (all) =>
    all.length === 0 ? [] : findBound(ctx, policies, all),
  )

const findBound = async (
  ctx: RequestContext,
  policies: GroupResource,
  bindings: readonly KubeObject[],
): Promise<BoundPolicy[]> => {
  const bound: BoundPolicy[] = []
  for (const binding of bindings) {
    const name: string = binding.spec?.policyName ?? ''
    const policy = await findObject(ctx, policies, { name })
    if (policy !== undefined) bound.push({ policy, binding })
  }
  return bound
}

/** The version in which the policy is meant; a binding may narrow what its policy is about. */
export const meantVersion = async (
  attributes: AdmissionAttributes,
  { policy, binding }: BoundPolicy,
  equivalentsOf: EquivalentsOf,
): Promise<ResourceDefinition | undefined> => {
  const { matchConstraints = {} } = policy.spec
  const matched = await matchesRequest(matchConstraints, attributes, equivalentsOf)
  const narrowed = binding.spec.matchResources
  if (matched === undefined || !narrowed) return matched
  const resourceRules = narrowed.resourceRules?.length ? narrowed.resourceRules : undefined
  const terms = { ...narrowed, resourceRules }
  return (await matchesRequest(terms, attributes, equivalentsOf)) && matched
}

/** A conversion that failed; the message is upstream's. */
export class ConversionFailed extends Error {}

/** Rejects with ConversionFailed. */
export const seenByPolicy = async (
  attributes: AdmissionAttributes,
  definition: ResourceDefinition,
): Promise<VersionedRequest> => {
  try {
    return await inVersion(attributes, definition)
  } catch (error) {
    const why = `failed to convert object version: ${(error as Error).message}`
    throw new ConversionFailed(`failed to configure binding: ${why}`)
  }
}

/** The parameters of a binding: [null] for a policy without any; 'deny' when they must exist and do not. */
export const paramsOf = async (
  attributes: AdmissionAttributes,
  { policy, binding }: BoundPolicy,
  resourceOfKind: ResourceOfKind,
): Promise<readonly (KubeObject | null)[] | 'deny'> => {
  const { paramKind } = policy.spec
  const ref = binding.spec.paramRef
  if (!paramKind || !ref) return [null]
  const version = parseGroupVersion(paramKind.apiVersion ?? '') ?? { group: '', version: '' }
  const resource = resourceOfKind({ ...version, kind: paramKind.kind })
  const notFound = ref.parameterNotFoundAction === 'Allow' ? [] : 'deny'
  if (resource === undefined) return notFound
  const namespace = resource.namespaced ? ref.namespace || attributes.namespace : undefined
  if (ref.name) {
    const found = await findObject(attributes.ctx, resource, { name: ref.name, namespace })
    return found === undefined ? notFound : [found]
  }
  const all = await listObjects(attributes.ctx, resource, namespace)
  const selected = all.filter((o) => matchesSelector(ref.selector ?? {}, o.metadata.labels ?? {}))
  return selected.length === 0 ? notFound : selected
}

export const paramsMissing =
  'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'

/** The namespace of the request; undefined for what is in none. */
export const namespaceOf = async (
  attributes: AdmissionAttributes,
): Promise<KubeObject | undefined> =>
  attributes.namespace === '' || isAboutNamespace(attributes)
    ? undefined
    : findNamespace(attributes)

export const requestOf = (attributes: VersionedRequest): object =>
  admissionRequest(attributes, randomUUID())
