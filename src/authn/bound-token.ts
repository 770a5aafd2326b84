/**
 * Tokens that were requested: they are valid as long as their account exists, and what they are bound to (upstream:
 * claims.go).
 */
import type { JWTPayload } from 'jose'
import type { KubeObject } from '#api/object.js'
import { serviceAccountUser, type UserInfo } from '#api/user-info.js'
import { limits } from '#limits'
import type { LegacyDeps } from './legacy-token.js'

export interface BoundReference {
  readonly name: string
  readonly uid: string
}

/** Of a Pod whose Node is not there, the name alone is known. */
export type NodeReference = Pick<BoundReference, 'name'> & Partial<BoundReference>

/** What a token says besides the standard claims. */
export interface ServiceAccountClaims {
  readonly namespace: string
  readonly serviceaccount: BoundReference
  readonly pod?: BoundReference
  readonly secret?: BoundReference
  readonly node?: NodeReference
  /** Seconds since the epoch. */
  readonly warnafter?: number
}

export const privateClaim = 'kubernetes.io'
const extraPrefix = 'authentication.kubernetes.io/'
const invalidated = 'service account token has been invalidated'

/** Machines' clocks may differ by as much (go-jose's DefaultLeeway). */
const { tokenLeewaySeconds: leeway } = limits

const problemOfTime = ({ nbf, exp, iat }: JWTPayload, now: number): string | undefined => {
  if (nbf !== undefined && now + leeway < nbf) return 'service account token is not valid yet'
  if (exp !== undefined && now - leeway > exp) return 'service account token has expired'
  if (iat !== undefined && now + leeway < iat)
    return 'service account token is issued in the future'
  return undefined
}

/** The leeway also holds after an object's end: its writes may come late. */
const isOver = ({ metadata }: KubeObject, now: number): boolean =>
  metadata.deletionTimestamp !== undefined &&
  Date.parse(metadata.deletionTimestamp) < (now - leeway) * 1000

const problemOfAccount = (
  account: KubeObject | undefined,
  { namespace, serviceaccount: { name = '', uid = '' } }: ServiceAccountClaims,
  now: number,
): string | undefined => {
  if (name === '') return 'resource name may not be empty'
  if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`
  if (account.metadata.uid !== uid)
    return `service account UID (${account.metadata.uid}) does not match claim (${uid})`
  return isOver(account, now) ? `service account ${namespace}/${name} has been deleted` : undefined
}

const bindings = [
  ['secrets', 'secret'],
  ['pods', 'pod'],
  ['nodes', 'node'],
] as const

/** The Node in a Pod's token is only information, and may be gone. */
const boundTo = (claims: ServiceAccountClaims) =>
  bindings.flatMap(([resource, kind]) => {
    const reference = claims[kind]
    return reference === undefined || (kind === 'node' && claims.pod !== undefined)
      ? []
      : [{ resource, kind, name: reference.name, uid: reference.uid ?? '' }]
  })

const problemOfBinding = async (
  claims: ServiceAccountClaims,
  { references }: LegacyDeps,
  now: number,
): Promise<string | undefined> => {
  for (const { resource, kind, name, uid } of boundTo(claims)) {
    const namespace = kind === 'node' ? '' : claims.namespace
    const object = await references.find(resource, namespace, name)
    if (object === undefined) return invalidated
    if (object.metadata.uid !== uid)
      return `${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${uid})`
    if (isOver(object, now)) return invalidated
  }
  return undefined
}

const nobody: ServiceAccountClaims = { namespace: '', serviceaccount: { name: '', uid: '' } }

/** A text says why the token does not hold. */
export const boundUser = async (
  payload: JWTPayload,
  deps: LegacyDeps,
): Promise<UserInfo | string> => {
  const now = deps.now / 1000
  const ofTime = problemOfTime(payload, now)
  if (ofTime !== undefined) return ofTime
  const claims = { ...nobody, ...(payload[privateClaim] as Partial<ServiceAccountClaims>) }
  const { namespace, serviceaccount, pod, node, warnafter } = claims
  const account =
    serviceaccount.name &&
    (await deps.references.find('serviceaccounts', namespace, serviceaccount.name))
  const problem =
    problemOfAccount(account || undefined, claims, now) ??
    (await problemOfBinding(claims, deps, now))
  if (problem !== undefined) return problem
  if (warnafter) {
    const lateSeconds = Math.floor(now) - warnafter
    deps.uses.count(now > warnafter ? 'stale_tokens' : 'valid_tokens')
    if (now > warnafter)
      deps.notes.annotate(
        'authentication.k8s.io/stale-token',
        `subject: ${payload.sub}, seconds after warning threshold: ${lateSeconds}`,
      )
  }
  const bound = (kind: string, reference: NodeReference | undefined) => ({
    ...(reference && { [`${extraPrefix}${kind}-name`]: [reference.name] }),
    ...(reference?.uid && { [`${extraPrefix}${kind}-uid`]: [reference.uid] }),
  })
  const extra = {
    ...(payload.jti && { [`${extraPrefix}credential-id`]: [`JTI=${payload.jti}`] }),
    ...bound('node', node),
    ...bound('pod', pod),
  }
  return {
    ...serviceAccountUser(namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}
