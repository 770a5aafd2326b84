/**
 * Authentication and authorization of one server. The kinds of reviews need it before there is a resource table, but it
 * reads roles and accounts from stores that are made from that table: `connect` gives it both once they exist.
 */
import type { FastifyRequest } from 'fastify'
import { internalError } from '#api/errors.js'
import type { GroupVersionKind } from '#api/group-version.js'
import type { KubeObject, ObjectMeta } from '#api/object.js'
import { anonymousUser } from '#api/user-info.js'
import { once } from '#async/once.js'
import {
  type Authenticator,
  type TokenAuthenticator,
  type TokenNotes,
  unionAuthenticator,
} from '#authn/authenticator.js'
import type { ServiceAccountTokens } from '#authn/service-account-tokens.js'
import { authenticationKinds, type ReviewToken, tokenSubresource } from '#authn/token-kinds.js'
import { type Attributes, type Authorizer, attributesOf, errorOf } from '#authz/authorizer.js'
import { checkBinding, checkRole, type RoleWrite } from '#authz/escalation.js'
import { nodeAuthorizer } from '#authz/node-authorizer.js'
import { NodeGraph } from '#authz/node-graph.js'
import { RbacAuthorizer } from '#authz/rbac.js'
import type { PolicyRule } from '#authz/rbac-rules.js'
import { authorizationKinds } from '#authz/review-kinds.js'
import { alwaysAllow, alwaysDeny } from '#authz/rule-resolver.js'
import { forbiddenError } from '#filters/authorization.js'
import { aggregate } from '#go/aggregate.js'
import { trimSpace } from '#go/trim-space.js'
import { beginStatusUpdate } from '#kinds/resource/resource-claim.js'
import type { MetricFamily } from '#metrics/metric-family.js'
import { bootstrapObjects } from '#openapi/schemas.js'
import type { KindDefinition, RequestContext, Strategy } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import type { Stores } from '#registry/stores.js'
import {
  type BearerTokenDeps,
  type BearerTokens,
  openBearerTokens,
} from './authentication/bearer-tokens.js'
import {
  type AuthenticationDeps,
  openAuthentication,
} from './authentication/open-authentication.js'
import { openAuthorizers } from './authorization/authorizers.js'
import { claimStatusRights } from './authorization/claim-status-rights.js'
import { withParamRights } from './authorization/param-rights.js'
import { rbacGroup, rbacSource } from './authorization/rbac-source.js'
import type { ServerOptions } from './options.js'
import type { StartedParts } from './started-parts.js'

export interface Access {
  readonly authenticator: Authenticator
  /** Whether a request for a path may go on as system:anonymous without credentials. */
  readonly allowsAnonymous: (path: string) => boolean
  readonly authorizer: Authorizer
  /** What the Node authorizer goes by; undefined unless that mode is on. */
  readonly nodeGraph: NodeGraph | undefined
  readonly tokens: ServiceAccountTokens
  /** Metrics of tokens. */
  readonly families: readonly MetricFamily[]
  /** Adds to the built-in kinds what depends on access: reviews, tokens, and what takes rights of its own. */
  withAccess(kinds: readonly KindDefinition[]): KindDefinition[]
  /** Throws forbidden unless the user may create what an update would create. */
  authorizeCreate(request: FastifyRequest): Promise<void>
  connect(stores: Stores, served: ResourceTable): void
}

const hookOf: Readonly<
  Record<string, { resource: RoleWrite['resource']; check: typeof checkRole }>
> = {
  Role: { resource: 'roles', check: checkRole },
  ClusterRole: { resource: 'clusterroles', check: checkRole },
  RoleBinding: { resource: 'rolebindings', check: checkBinding },
  ClusterRoleBinding: { resource: 'clusterrolebindings', check: checkBinding },
}

const withEscalationCheck = (
  kind: KindDefinition,
  deps: Parameters<typeof checkRole>[0],
): KindDefinition => {
  const hook = kind.group === rbacGroup ? hookOf[kind.kind] : undefined
  if (hook === undefined) return kind
  const { resource, check } = hook
  const begin = async (
    object: KubeObject,
    previous: KubeObject | undefined,
    { user, verb, namespace = '' }: RequestContext,
  ): Promise<undefined> => {
    const requestName = verb === 'create' ? '' : (object.metadata.name ?? '')
    await check(deps, { user, namespace, requestName, resource, object, previous })
  }
  const strategy: Strategy = {
    ...kind.strategy,
    beginCreate: (object, ctx) => begin(object, undefined, ctx),
    beginUpdate: begin,
  }
  return { ...kind, strategy }
}

const withStatusRights = (kind: KindDefinition, authorizer: Authorizer): KindDefinition => {
  if (kind.group !== 'resource.k8s.io' || kind.kind !== 'ResourceClaim') return kind
  const beginUpdate = beginStatusUpdate(claimStatusRights(authorizer))
  return { ...kind, strategy: { ...kind.strategy, beginUpdate } }
}

const withTokens = (kind: KindDefinition, tokens: ServiceAccountTokens): KindDefinition =>
  kind.group === '' && kind.kind === 'ServiceAccount'
    ? { ...kind, subresources: [...(kind.subresources ?? []), tokenSubresource(tokens)] }
    : kind

/** A TokenReview asks about a token without using it: its warnings and annotations are not those of the request. */
const unheard: TokenNotes = { warn() {}, annotate() {} }

/** As if it came with a request: up to its first space, and what has none left is no token at all. */
const shownAs = (token: string): string => trimSpace(`Bearer ${token}`).split(' ')[1] ?? ''

const makeReview =
  (
    { all, serviceAccounts }: BearerTokens,
    allowsAnonymous: Access['allowsAnonymous'],
  ): ReviewToken =>
  async (token, audiences) => {
    const wanted = audiences.length === 0 ? serviceAccounts.audiences : audiences
    const shown = shownAs(token)
    if (shown === '')
      return allowsAnonymous('') ? { user: anonymousUser, audiences: wanted } : { error: '' }
    const verified = await all(shown, wanted, unheard)
    return 'user' in verified
      ? verified
      : { error: aggregate(['invalid bearer token', ...verified])! }
  }

/** Upstream compiles these in, and does not look at the ClusterRole that is stored for older clusters. */
const nodeRules = once((): readonly PolicyRule[] => {
  const roles = bootstrapObjects()[`/apis/${rbacGroup}/v1/clusterroles`]!
  const role = roles.find(({ metadata }) => (metadata as ObjectMeta).name === 'system:node')
  return role!.rules as PolicyRule[]
})

type AccessDeps = Pick<BearerTokenDeps, 'credentials'> & AuthenticationDeps

/** Rejects where a file that the options name cannot be used. */
export const openAccess = async (
  options: ServerOptions,
  { credentials, clock, warn }: AccessDeps,
  started: StartedParts,
): Promise<Access> => {
  let stores: Stores | undefined
  let served: ResourceTable | undefined
  const storeOf = (group: string, resource: string): Store => {
    const store = stores?.ofResource({ group, resource })
    if (store === undefined) throw new Error(`there is no store for ${resource} yet`)
    return store
  }
  const { jwt, allowsAnonymous } = await openAuthentication(options, { clock, warn }, started)
  const bearerTokens = await openBearerTokens(
    options,
    { credentials, clock, warn, storeOf, jwt },
    started,
  )
  const { known, serviceAccounts: tokens } = bearerTokens
  const rbac = new RbacAuthorizer(
    rbacSource({ storeOf: (resource) => storeOf(rbacGroup, resource), clock }),
  )
  const nodeGraph = new NodeGraph()
  const builtIn = {
    AlwaysAllow: alwaysAllow,
    AlwaysDeny: alwaysDeny,
    Node: nodeAuthorizer(nodeGraph, nodeRules),
    RBAC: rbac,
  }
  const authorizer = await openAuthorizers(options, { builtIn, clock, warn }, started)
  const others: TokenAuthenticator = async (token, notes) => {
    const verified = await bearerTokens.others(token, tokens.audiences, notes)
    return 'user' in verified ? verified.user : undefined
  }
  const resourceOf = (kind: GroupVersionKind) => served?.byKind(kind)?.gvr.resource
  const authorizeAll = async (attributes: Attributes): Promise<void> => {
    const made = await authorizer.authorize(attributes)
    if (made.decision === 'allow') return
    if (made.errors !== undefined) throw internalError(errorOf(made))
    throw forbiddenError(attributes, made.reason)
  }
  return {
    authenticator: unionAuthenticator(known, others),
    allowsAnonymous,
    authorizer,
    nodeGraph: authorizer.hasNode ? nodeGraph : undefined,
    tokens,
    families: bearerTokens.families,
    withAccess: (kinds) => [
      ...kinds
        .map((kind) => withEscalationCheck(kind, { rbac, authorizer }))
        .map((kind) => withStatusRights(kind, authorizer))
        .map((kind) => withParamRights(kind, { authorizer, resourceOf }))
        .map((kind) => withTokens(kind, tokens)),
      ...authenticationKinds(makeReview(bearerTokens, allowsAnonymous)),
      ...authorizationKinds(authorizer, authorizer),
    ],
    authorizeCreate: ({ kube }) =>
      authorizeAll({ ...attributesOf(kube.user, kube.info), verb: 'create' }),
    connect: (made, table) => {
      stores = made
      served = table
    },
  }
}
