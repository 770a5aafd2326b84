/**
 * Who writes an admission policy, or binds one, has to be able to read the parameters that it then reads for them
 * (kubernetes, pkg/registry/admissionregistration, authz.go of policies and of bindings).
 */
import { ApiError, invalid } from '#api/errors.js'
import { child, forbidden } from '#api/field-error.js'
import { type GroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import { dnsSubdomainName } from '#api/names.js'
import type { Fields, KubeObject } from '#api/object.js'
import type { UserInfo } from '#api/user-info.js'
import { type Attributes, type Authorizer, errorOf } from '#authz/authorizer.js'
import { internalContext } from '#registry/internal-context.js'
import type { KindDefinition, RequestContext, Strategy } from '#registry/resource-definition.js'
import { validateMeta } from '#registry/validate-object-meta.js'

const group = 'admissionregistration.k8s.io'

interface ParamRightsDeps {
  readonly authorizer: Authorizer
  /** The resource of a kind, if it is served. */
  resourceOf(kind: GroupVersionKind): string | undefined
}

type What = Pick<Attributes, 'apiGroup' | 'apiVersion' | 'resource'>

const anything: What = { apiGroup: '*', apiVersion: '*', resource: '*' }

/** Every resource of its version for a kind that is not served. */
const whatIs = ({ apiVersion, kind }: Fields, deps: ParamRightsDeps): What => {
  const gv = parseGroupVersion(apiVersion ?? '')
  if (gv === undefined) return anything
  const resource = deps.resourceOf({ ...gv, kind: kind ?? '' }) ?? '*'
  return { apiGroup: gv.group, apiVersion: gv.version, resource }
}

/** As Go prints it (%v of a user.DefaultInfo). */
const printed = ({ name, uid = '', groups, extra = {} }: UserInfo): string => {
  const entries = Object.keys(extra)
    .sort()
    .map((key) => `${key}:[${extra[key]!.join(' ')}]`)
  return `&{${name} ${uid} [${groups.join(' ')}] map[${entries.join(' ')}]}`
}

interface Asked {
  readonly isAllowed: boolean
  readonly error?: string
}

const ask = async (
  { authorizer }: ParamRightsDeps,
  { user }: RequestContext,
  about: What & Pick<Attributes, 'verb' | 'namespace' | 'name'>,
): Promise<Asked> => {
  const attributes = { user, isResourceRequest: true, path: '', subresource: '', ...about }
  const made = await authorizer.authorize(attributes)
  return {
    isAllowed: made.decision === 'allow',
    ...(made.errors !== undefined && { error: errorOf(made) }),
  }
}

/** Why an object that is well-formed and has parameters may not be written; undefined if it may. */
type FindProblem = (
  spec: Fields,
  previous: Fields | undefined,
  ctx: RequestContext,
) => Promise<string | undefined>

const policyProblem =
  (deps: ParamRightsDeps): FindProblem =>
  async ({ paramKind }, previous, ctx) => {
    const { apiVersion, kind } = paramKind
    const { paramKind: stored } = previous ?? {}
    if (stored?.apiVersion === apiVersion && stored?.kind === kind) return undefined
    const everywhere = { verb: 'get', namespace: '*', name: '*' }
    const { isAllowed, error } = await ask(deps, ctx, { ...whatIs(paramKind, deps), ...everywhere })
    if (isAllowed || error !== undefined) return error
    return `user ${printed(ctx.user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`
  }

const readPolicy = async (
  resource: string,
  name: string,
  ctx: RequestContext,
): Promise<KubeObject | undefined> => {
  try {
    return (await ctx.stores({ group, resource })?.get(internalContext(ctx), name))?.object
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/** Upstream compares references by the addresses of what is in them, so that an update asks again in any case. */
const bindingProblem =
  (deps: ParamRightsDeps, isMutating: boolean): FindProblem =>
  async ({ policyName, paramRef }, _previous, ctx) => {
    const policies = `${isMutating ? 'mutating' : 'validating'}admissionpolicies`
    const policy = await readPolicy(policies, policyName, ctx)
    const paramKind: Fields | undefined = policy?.spec.paramKind
    const what = paramKind === undefined ? anything : whatIs(paramKind, deps)
    const { name = '', namespace = '' } = paramRef
    const verb = name === '' ? 'list' : 'get'
    const { isAllowed, error } = await ask(deps, ctx, { ...what, verb, namespace, name })
    if (error !== undefined) return isMutating ? error : `failed to authorize request: ${error}`
    if (isAllowed) return undefined
    const user = printed(ctx.user)
    const unclear = `to determine minimum required permissions and user ${user} does not have "${verb}" permission for all groups, versions and resources`
    if (policy === undefined) return `unable to get policy ${policyName} ${unclear}`
    if (paramKind !== undefined && what.resource === '*')
      return `unable to resolve paramKind &{${paramKind.apiVersion} ${paramKind.kind}} ${unclear}`
    // Upstream mixes up the two.
    const [whose, which] = isMutating ? [verb, user] : [user, verb]
    return `user ${whose} does not have "${which}" permission on the object referenced by paramRef`
  }

const rightsOf = (deps: ParamRightsDeps): Record<string, { field: string; find: FindProblem }> => {
  const ofPolicies = { field: 'paramKind', find: policyProblem(deps) }
  const ofBindings = (isMutating: boolean) => ({
    field: 'paramRef',
    find: bindingProblem(deps, isMutating),
  })
  return {
    ValidatingAdmissionPolicy: ofPolicies,
    MutatingAdmissionPolicy: ofPolicies,
    ValidatingAdmissionPolicyBinding: ofBindings(false),
    MutatingAdmissionPolicyBinding: ofBindings(true),
  }
}

export const withParamRights = (kind: KindDefinition, deps: ParamRightsDeps): KindDefinition => {
  const rights = kind.group === group ? rightsOf(deps)[kind.kind] : undefined
  if (rights === undefined) return kind
  const { strategy } = kind
  const check = async (
    object: KubeObject,
    previous: KubeObject | undefined,
    ctx: RequestContext,
  ): Promise<undefined> => {
    const { metadata, spec } = object
    if (ctx.subresource !== '' || spec?.[rights.field] === undefined) return undefined
    // What is malformed is refused for that alone, metadata included. (The server sets the generation.)
    const given = { ...metadata, generation: undefined }
    if (validateMeta(given, false, dnsSubdomainName).length > 0) return undefined
    if (strategy?.validate?.(object, ctx).length !== 0) return undefined
    const problem = await rights.find(spec, previous?.spec, ctx)
    if (problem === undefined) return undefined
    throw invalid({ group, kind: kind.kind }, metadata.name ?? '', [
      forbidden(child('spec', rights.field), problem),
    ])
  }
  const hooks: Pick<Strategy, 'beginCreate' | 'beginUpdate'> = {
    beginCreate: (object, ctx) => check(object, undefined, ctx),
    beginUpdate: check,
  }
  return { ...kind, strategy: { ...strategy, ...hooks } }
}
