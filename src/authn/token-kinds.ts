/** TokenReview, SelfSubjectReview and the token subresource of ServiceAccounts: answered, never stored. */
import { randomUUID } from 'node:crypto'
import { formatTime } from '#api/clock.js'
import { ApiError, badRequest, conflict, invalid, notFound } from '#api/errors.js'
import { invalid as invalidField } from '#api/field-error.js'
import { formatGroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { UserInfo } from '#api/user-info.js'
import { metadataInOrder } from '#cacher/object-bytes.js'
import { getOwn } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import type { KindDefinition, RequestContext, Subresource } from '#registry/resource-definition.js'
import { validTokenSeconds } from '#validation/number.js'
import type { BoundReference, NodeReference } from './bound-token.js'
import type { ServiceAccountTokens } from './service-account-tokens.js'

const group = 'authentication.k8s.io'

/** The form of a user in reviews. */
const userJson = ({ name, uid, groups, extra }: UserInfo): JsonObject => ({
  ...(name === '' ? {} : { username: name }),
  ...(uid === undefined || uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups: [...groups] }),
  ...(extra === undefined || Object.keys(extra).length === 0
    ? {}
    : {
        extra: Object.fromEntries(
          Object.keys(extra)
            .sort()
            .map((key) => [key, [...extra[key]!]]),
        ),
      }),
})

const selfSubjectReview: KindDefinition = {
  group,
  version: 'v1',
  kind: 'SelfSubjectReview',
  strategy: {
    createInstead: async ({ body, admit }, ctx) => {
      await admit()
      return {
        kind: body.kind,
        apiVersion: body.apiVersion,
        metadata: { creationTimestamp: formatTime(ctx.now) },
        status: { userInfo: userJson(ctx.user) },
      }
    },
  },
  sample: { metadata: {} },
}

/** Tries one token: yields the user and the valid audiences, or the error, which is empty where there was no token. */
export type ReviewToken = (
  token: string,
  audiences: readonly string[],
) => Promise<{ user: UserInfo; audiences: readonly string[] } | { error: string }>

const tokenReview = (review: ReviewToken): KindDefinition => ({
  group,
  version: 'v1',
  kind: 'TokenReview',
  strategy: {
    createInstead: async ({ body, admit }) => {
      const { token = '', audiences = [] } = (body.spec ?? {}) as {
        token?: string
        audiences?: string[]
      }
      if (token === '') throw badRequest('token is required for TokenReview in authentication')
      await admit()
      const answer = await review(token, audiences)
      // Fields of a sent status stay unless they are overwritten.
      const { user = {}, audiences: given, error }: JsonObject = body.status ?? {}
      const status =
        'error' in answer
          ? {
              user,
              ...(given ? { audiences: given } : {}),
              ...(answer.error || error ? { error: answer.error || error } : {}),
            }
          : {
              authenticated: true,
              user: userJson(answer.user),
              ...(answer.audiences.length === 0 ? {} : { audiences: [...answer.audiences] }),
              ...(error ? { error } : {}),
            }
      return { ...body, status }
    },
  },
  sample: { metadata: {}, spec: { token: 'x' } },
})

const checkExpiration = (seconds: number): void => {
  const problems = validTokenSeconds('spec.expirationSeconds', seconds)
  if (problems.length > 0) throw invalid({ group, kind: 'TokenRequest' }, '', problems)
}

/** The ServiceAccount in the body must be that of the path. */
const checkTarget = (
  metadata: KubeObject['metadata'],
  target: { name: string; namespace: string },
): void => {
  for (const field of ['name', 'namespace'] as const) {
    const given = metadata[field]
    if (given && given !== target[field])
      throw invalid({ group, kind: 'TokenRequest' }, target.name, [
        invalidField(
          `metadata.${field}`,
          given,
          `must match the service account ${field} if specified`,
        ),
      ])
  }
}

interface BoundObject {
  kind?: string
  apiVersion?: string
  name?: string
  uid?: string
}

const boundResources: Readonly<Record<string, 'pods' | 'secrets' | 'nodes'>> = {
  Pod: 'pods',
  Secret: 'secrets',
  Node: 'nodes',
}

type BoundClaim = { readonly [kind: string]: BoundReference } | { readonly node?: NodeReference }

/** The claim for the bound object. Throws notFound, or badRequest for a kind that a token cannot be bound to. */
const boundClaim = async (
  bound: BoundObject | undefined | null,
  account: KubeObject,
  ctx: RequestContext,
): Promise<BoundClaim> => {
  if (bound === undefined || bound === null) return {}
  const { kind = '', name = '', apiVersion = '' } = bound
  // Upstream compares only the group: any version of the core group is accepted, also none.
  const gv = parseGroupVersion(apiVersion) ?? { group: '', version: '' }
  const resource = gv.group === '' ? getOwn(boundResources, kind) : undefined
  if (resource === undefined)
    throw badRequest(
      `cannot bind token to object of type ${formatGroupVersionKind({ ...gv, kind })}`,
    )
  const store = ctx.stores({ group: '', resource })
  if (store === undefined) throw notFound({ group: '', resource }, name)
  const { object } = await store.get(
    { ...ctx, namespace: resource === 'nodes' ? undefined : ctx.namespace },
    name,
  )
  const owner = (object.spec?.serviceAccountName as string | undefined) ?? ''
  if (kind === 'Pod' && owner !== account.metadata.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account.metadata.name)} to pod running with different serviceaccount name.`,
    )
  const { uid } = object.metadata
  if (bound.uid !== undefined && bound.uid !== '' && bound.uid !== uid)
    throw conflict(
      { group: '', resource: kind },
      name,
      `the UID in the bound object reference (${bound.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  const reference = { name, uid: uid! }
  if (kind !== 'Pod') return { [kind.toLowerCase()]: reference }
  return { pod: reference, ...(await nodeClaim(object, ctx)) }
}

const nodeClaim = async (pod: KubeObject, ctx: RequestContext): Promise<BoundClaim> => {
  const name = pod.spec?.nodeName as string | undefined
  const store = ctx.stores({ group: '', resource: 'nodes' })
  if (!name || store === undefined) return {}
  try {
    const { object } = await store.get({ ...ctx, namespace: undefined }, name)
    return { node: { name, uid: object.metadata.uid! } }
  } catch (error) {
    // A Pod may exist without its Node: then the claim has only the Node's name.
    if (error instanceof ApiError && error.code === 404) return { node: { name } }
    throw error
  }
}

const defaultExpirationSeconds = 3600

const checkUid = (asked: string | undefined, { metadata }: KubeObject): void => {
  if (asked && asked !== metadata.uid)
    throw conflict(
      { group, resource: 'TokenRequest' },
      metadata.name!,
      `the UID in the token request (${asked}) does not match the UID of the service account (${metadata.uid})`,
    )
}

/** `POST …/serviceaccounts/x/token`. */
export const tokenSubresource = (
  tokens: ServiceAccountTokens,
): Pick<Subresource, 'name' | 'style' | 'create' | 'default'> => ({
  name: 'token',
  style: 'create',
  default: (body) => {
    body.spec ??= {}
    body.spec.expirationSeconds ??= defaultExpirationSeconds
  },
  create: async ({ name, body, store, admit }, ctx) => {
    checkTarget(body.metadata, { name, namespace: ctx.namespace ?? '' })
    const account = (await store.get(ctx, name)).object
    checkUid(body.metadata.uid, account)
    const spec = (body.spec ?? {}) as {
      audiences?: string[]
      expirationSeconds?: number
      boundObjectRef?: BoundObject | null
    }
    const asked = spec.expirationSeconds ?? defaultExpirationSeconds
    const { namespace, uid } = account.metadata
    const audiences = spec.audiences?.length ? spec.audiences : [...tokens.audiences]
    // Validating admission sees the final audiences.
    body.metadata = {
      ...body.metadata,
      name,
      namespace: namespace!,
      uid: uid!,
      creationTimestamp: formatTime(ctx.now),
    }
    body.spec = { ...spec, audiences }
    checkExpiration(asked)
    await admit()
    const bound = await boundClaim(spec.boundObjectRef, account, ctx)
    const expirationSeconds = tokens.longest(asked)
    if (expirationSeconds < asked)
      ctx.warn(`requested expiration of ${asked} seconds shortened to ${expirationSeconds} seconds`)
    // Nothing is stored, so a dry run issues a token, too.
    const id = randomUUID()
    ctx.audit?.annotate('authentication.kubernetes.io/issued-credential-id', `JTI=${id}`)
    const token = await tokens.issue({
      id,
      claims: { namespace: namespace!, serviceaccount: { name, uid: uid! }, ...bound },
      audiences,
      expiresInSeconds: expirationSeconds,
    })
    const object: JsonObject = {
      kind: 'TokenRequest',
      apiVersion: `${group}/v1`,
      metadata: metadataInOrder(body.metadata),
      spec: {
        audiences,
        expirationSeconds,
        boundObjectRef: (spec.boundObjectRef as JsonObject | undefined) ?? null,
      },
      status: {
        token,
        expirationTimestamp: formatTime(ctx.now + expirationSeconds * 1000),
      },
    }
    return { code: 201, object }
  },
})

export const authenticationKinds = (review: ReviewToken): KindDefinition[] => [
  selfSubjectReview,
  tokenReview(review),
]
