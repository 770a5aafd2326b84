/**
 * Authentication and authorization of one server. The kinds of reviews need it before there is a resource table, while it
 * reads roles and accounts from stores that are made from that table: `connect` hands it the stores when they are there.
 */
import { readFileSync } from 'node:fs'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '#api/clock.js'
import type { KubeObject, ObjectMeta } from '#api/object.js'
import { once } from '#api/once.js'
import type { Authenticator, TokenAuthenticator } from '#authn/authenticator.js'
import { ServiceAccountTokens } from '#authn/service-account-tokens.js'
import { staticTokenAuthenticator } from '#authn/token-file.js'
import { authenticationKinds, type ReviewToken, tokenSubresource } from '#authn/token-kinds.js'
import {
  type Attributes,
  type Authorizer,
  attributesOf,
  privilegedGroup,
  unionAuthorizer,
} from '#authz/authorizer.js'
import { checkBinding, checkRole, type RoleWrite } from '#authz/escalation.js'
import { nodeAuthorizer } from '#authz/node-authorizer.js'
import { NodeGraph } from '#authz/node-graph.js'
import { RbacAuthorizer } from '#authz/rbac.js'
import type { PolicyRule } from '#authz/rbac-rules.js'
import { authorizationKinds } from '#authz/review-kinds.js'
import { alwaysAllow, alwaysDeny, type RuleResolver, unionRules } from '#authz/rule-resolver.js'
import { forbiddenError } from '#filters/authorization.js'
import { bootstrapObjects } from '#openapi/schemas.js'
import { internalContext } from '#registry/internal-context.js'
import type { KindDefinition, Strategy } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import type { Stores } from '#registry/stores.js'
import type { ServerCredentials } from './credentials.js'
import { authenticatorOf, staticTokens } from './identity.js'
import type { AuthorizationMode, ServerOptions } from './options.js'
import { rbacGroup, rbacSource } from './rbac-source.js'

export interface Access {
  readonly authenticator: Authenticator
  readonly authorizer: Authorizer
  /** Of the Node authorizer, where it takes part. */
  readonly nodeGraph: NodeGraph | undefined
  readonly tokens: ServiceAccountTokens
  /** The built-in kinds with what access adds to them: reviews, tokens, the check of escalation. */
  withAccess(kinds: readonly KindDefinition[]): KindDefinition[]
  /** Throws forbidden unless the user may create what an update would create. */
  authorizeCreate(request: FastifyRequest): Promise<void>
  connect(stores: Stores): void
}

const defaultIssuer = 'https://kubernetes.default.svc'

const makeTokens = (
  options: ServerOptions,
  credentials: ServerCredentials,
  clock: Clock,
  storeOf: (group: string, resource: string) => Store,
): ServiceAccountTokens => {
  const issuer = options.serviceAccountIssuer ?? defaultIssuer
  const { serviceAccountSigningKeyFile, serviceAccountKeyFiles = [] } = options
  const caller = new AbortController()
  const find = async (
    resource: string,
    namespace: string,
    name: string,
  ): Promise<KubeObject | undefined> => {
    const ctx = internalContext(
      { now: clock.now(), caller, stores: () => undefined },
      namespace === '' ? undefined : namespace,
    )
    try {
      return (await storeOf('', resource).get(ctx, name, { kind: 'any' })).object
    } catch {
      // A token that names what is gone, or cannot be read, is not valid (upstream: 401 for every error of its getters).
      return undefined
    }
  }
  return new ServiceAccountTokens({
    issuer,
    audiences: options.apiAudiences?.length ? options.apiAudiences : [issuer],
    signingKeyPem: () =>
      serviceAccountSigningKeyFile === undefined
        ? credentials.serviceAccountKeyPem()
        : readFileSync(serviceAccountSigningKeyFile, 'utf8'),
    verifyingKeyPems: serviceAccountKeyFiles.map((file) => readFileSync(file, 'utf8')),
    clock,
    references: {
      exists: async (resource, namespace, { name, uid }) =>
        (await find(resource, namespace, name))?.metadata.uid === uid,
      tokenSecret: async (namespace, name) => {
        const secret = await find('secrets', namespace, name)
        if (secret === undefined || secret.metadata.deletionTimestamp !== undefined)
          return undefined
        const token = Buffer.from(String(secret.data?.token ?? ''), 'base64').toString()
        return { labels: secret.metadata.labels ?? {}, token }
      },
    },
  })
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
  const strategy: Strategy = {
    ...kind.strategy,
    beginCreate: (object, ctx) =>
      check(deps, {
        user: ctx.user,
        namespace: ctx.namespace ?? '',
        resource,
        object,
        previous: undefined,
      }).then(() => undefined),
    beginUpdate: (object, previous, ctx) =>
      check(deps, {
        user: ctx.user,
        namespace: ctx.namespace ?? '',
        resource,
        object,
        previous,
      }).then(() => undefined),
  }
  return { ...kind, strategy }
}

const withTokens = (kind: KindDefinition, tokens: ServiceAccountTokens): KindDefinition =>
  kind.group === '' && kind.kind === 'ServiceAccount'
    ? { ...kind, subresources: [...(kind.subresources ?? []), tokenSubresource(tokens)] }
    : kind

const makeReview =
  (known: TokenAuthenticator, tokens: ServiceAccountTokens): ReviewToken =>
  async (token, audiences) => {
    const user = await known(token)
    const wanted = audiences.length === 0 ? tokens.audiences : audiences
    // A token of the file says nothing of audiences: it is good for those of this API.
    const common = wanted.filter((audience) => tokens.audiences.includes(audience))
    if (user !== undefined && common.length > 0) return { user, audiences: common }
    const verified = await tokens.verify(token, wanted)
    if (typeof verified === 'string') return { error: `[invalid bearer token, ${verified}]` }
    return verified ?? { error: 'invalid bearer token' }
  }

/** Upstream compiles them in, and does not look at the ClusterRole that is stored for older clusters. */
const nodeRules = once((): readonly PolicyRule[] => {
  const roles = bootstrapObjects()[`/apis/${rbacGroup}/v1/clusterroles`]!
  const role = roles.find(({ metadata }) => (metadata as ObjectMeta).name === 'system:node')
  return role!.rules as PolicyRule[]
})

export const makeAccess = (
  options: ServerOptions,
  credentials: ServerCredentials,
  clock: Clock,
): Access => {
  let stores: Stores | undefined
  const storeOf = (group: string, resource: string): Store => {
    const store = stores?.ofResource({ group, resource })
    if (store === undefined) throw new Error(`there is no store for ${resource} yet`)
    return store
  }
  const tokens = makeTokens(options, credentials, clock, storeOf)
  const rbac = new RbacAuthorizer(
    rbacSource({ storeOf: (resource) => storeOf(rbacGroup, resource), clock }),
  )
  const { authorizationModes = ['RBAC'] } = options
  const nodeGraph = new NodeGraph()
  const authorizers: Record<AuthorizationMode, Authorizer & RuleResolver> = {
    AlwaysAllow: alwaysAllow,
    AlwaysDeny: alwaysDeny,
    Node: nodeAuthorizer(nodeGraph, nodeRules),
    RBAC: rbac,
  }
  const modes = authorizationModes.map((mode) => authorizers[mode])
  const authorizer = unionAuthorizer([privilegedGroup, ...modes])
  const serviceAccounts: TokenAuthenticator = async (token) => {
    const verified = await tokens.verify(token)
    return typeof verified === 'object' ? verified.user : undefined
  }
  const known = staticTokenAuthenticator(staticTokens(options, credentials.adminToken))
  const authorizeAll = async (attributes: Attributes): Promise<void> => {
    const { decision, reason } = await authorizer.authorize(attributes)
    if (decision !== 'allow') throw forbiddenError(attributes, reason)
  }
  return {
    authenticator: authenticatorOf(known, [serviceAccounts]),
    authorizer,
    nodeGraph: authorizationModes.includes('Node') ? nodeGraph : undefined,
    tokens,
    withAccess: (kinds) => [
      ...kinds.map((kind) => withTokens(withEscalationCheck(kind, { rbac, authorizer }), tokens)),
      ...authenticationKinds(makeReview(known, tokens)),
      ...authorizationKinds(authorizer, unionRules(modes)),
    ],
    authorizeCreate: ({ kube }) =>
      authorizeAll({ ...attributesOf(kube.user, kube.info), verb: 'create' }),
    connect: (made) => {
      stores = made
    },
  }
}
