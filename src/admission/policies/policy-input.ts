/**
 * The inputs of a policy: whether it matches, its parameters, and its variables (apiserver,
 * pkg/admission/plugin/policy/generic).
 */
import { randomUUID } from 'node:crypto'
import {
  formatGroupResource,
  formatGroupVersionKind,
  type GroupResource,
  type GroupVersionKind,
  parseGroupVersion,
} from '#api/group-version.js'
import { matchesSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import { existingNamespace, findObject, isAboutNamespace, listObjects } from '../plugin.js'
import { admissionRequest, matchesRequest } from '../request-match.js'
import { type EquivalentsOf, inVersion, type VersionedRequest } from '../versioned-request.js'
import type { Authorize } from './cel.js'

/** The resource behind a kind; undefined for an unknown one. */
export type ResourceOfKind = (
  kind: GroupVersionKind,
) => (GroupResource & { namespaced: boolean }) | undefined

/** What policies need from the server besides its objects. */
export interface PolicyMeans {
  readonly resourceOfKind: ResourceOfKind
  readonly authorize: Authorize
  readonly equivalentsOf: EquivalentsOf
}

export interface BoundPolicy {
  readonly policy: KubeObject
  readonly binding: KubeObject
}

/**
 * Resources that policies never see, because webhooks and policies depend on them (kubernetes,
 * pkg/kubeapiserver/admission/exclusion).
 */
const excluded: ReadonlySet<string> = new Set([
  'selfsubjectreviews.authentication.k8s.io',
  'tokenreviews.authentication.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
  // Or nobody could undo a mistake (plugin/policy/generic). Configurations of webhooks are subject to policies.
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
])

/** The policies of a kind with their bindings, in the order of the bindings' names. */
export const boundPolicies = (
  { ctx, resource }: AdmissionAttributes,
  policies: GroupResource,
  bindings: GroupResource,
): readonly BoundPolicy[] | Promise<readonly BoundPolicy[]> => {
  if (excluded.has(formatGroupResource(resource))) return []
  return whenKnown(listObjects(ctx, bindings), (all) =>
    all.length === 0 ? [] : findBound(ctx, policies, all),
  )
}

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

/** A policy or its binding that cannot be followed; the message is upstream's. `binding` is missing where the policy itself cannot. */
export class Misconfigured extends Error {
  readonly binding: KubeObject | undefined
  constructor(why: string, binding?: KubeObject) {
    super(`failed to configure ${binding === undefined ? 'policy' : 'binding'}: ${why}`)
    this.binding = binding
  }
}

const kindOfParams = ({ spec }: KubeObject): GroupVersionKind => ({
  ...(parseGroupVersion(spec.paramKind.apiVersion ?? '') ?? { group: '', version: '' }),
  kind: spec.paramKind.kind,
})

const checkParamKind = (policy: KubeObject, resourceOfKind: ResourceOfKind): void => {
  if (!policy.spec.paramKind) return
  const kind = kindOfParams(policy)
  if (resourceOfKind(kind) !== undefined) return
  throw new Misconfigured(
    `failed to find resource referenced by paramKind: '${formatGroupVersionKind(kind)}'`,
  )
}

/**
 * The version of the request that the policy matches; a binding may narrow the match. Rejects with Misconfigured for a
 * matching policy whose parameters have an unknown kind.
 */
export const meantVersion = async (
  attributes: AdmissionAttributes,
  { policy, binding }: BoundPolicy,
  { equivalentsOf, resourceOfKind }: PolicyMeans,
): Promise<ResourceDefinition | undefined> => {
  const { matchConstraints = {} } = policy.spec
  const matches = (terms: Parameters<typeof matchesRequest>[0], of?: KubeObject) =>
    matchesRequest(terms, attributes, equivalentsOf).catch((error: Error) => {
      throw new Misconfigured(error.message, of)
    })
  const matched = await matches(matchConstraints)
  if (matched === undefined) return undefined
  checkParamKind(policy, resourceOfKind)
  const narrowed = binding.spec.matchResources
  if (!narrowed) return matched
  const resourceRules = narrowed.resourceRules?.length ? narrowed.resourceRules : undefined
  return (await matches({ ...narrowed, resourceRules }, binding)) && matched
}

/** Rejects with Misconfigured when a conversion fails. */
export const seenByPolicy = async (
  attributes: AdmissionAttributes,
  definition: ResourceDefinition,
  { binding }: BoundPolicy,
): Promise<VersionedRequest> => {
  try {
    return await inVersion(attributes, definition)
  } catch (error) {
    const why = `failed to convert object version: ${(error as Error).message}`
    throw new Misconfigured(why, binding)
  }
}

/** The parameters of a binding: [null] for a policy without any. Rejects with Misconfigured when they must exist and do not. */
export const paramsOf = async (
  attributes: AdmissionAttributes,
  { policy, binding }: BoundPolicy,
  { resourceOfKind }: PolicyMeans,
): Promise<readonly (KubeObject | null)[]> => {
  const ref = binding.spec.paramRef
  const resource = policy.spec.paramKind && resourceOfKind(kindOfParams(policy))
  if (!resource || !ref) return [null]
  if (resource.namespaced && !ref.namespace && attributes.namespace === '')
    throw new Misconfigured(
      'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
      binding,
    )
  if (!resource.namespaced && ref.namespace)
    throw new Misconfigured(
      'paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
      binding,
    )
  const namespace = resource.namespaced ? ref.namespace || attributes.namespace : undefined
  const found = ref.name
    ? [await findObject(attributes.ctx, resource, { name: ref.name, namespace })]
    : (await listObjects(attributes.ctx, resource, namespace)).filter((o) =>
        matchesSelector(ref.selector ?? {}, o.metadata.labels ?? {}),
      )
  const params = found.filter((param) => param !== undefined)
  if (params.length === 0 && ref.parameterNotFoundAction !== 'Allow')
    throw new Misconfigured(
      'no params found for policy binding with `Deny` parameterNotFoundAction',
      binding,
    )
  return params
}

/** The namespace of the request; undefined for what is in none. Throws a 404 if it is gone. */
export const namespaceOf = async (
  attributes: AdmissionAttributes,
): Promise<KubeObject | undefined> =>
  attributes.namespace === '' || isAboutNamespace(attributes)
    ? undefined
    : existingNamespace(attributes)

export const requestOf = (attributes: VersionedRequest): object =>
  admissionRequest(attributes, randomUUID())
