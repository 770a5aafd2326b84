/** Authorizers: a user and what is asked for in; allow, deny or no opinion out. */
import type { RequestInfo } from '#api/request-info.js'
import { type FieldRequirement, parseFieldSelector, SelectorError } from '#api/selectors.js'
import type { UserInfo } from '#api/user-info.js'

export interface Attributes {
  readonly user: UserInfo
  readonly verb: string
  readonly isResourceRequest: boolean
  /** Of non-resource requests. */
  readonly path: string
  readonly apiGroup: string
  readonly apiVersion: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** What all objects meet that are asked for; left out where that is not known. */
  readonly fieldSelector?: readonly FieldRequirement[]
}

export interface Decision {
  readonly decision: 'allow' | 'deny' | 'no opinion'
  /** Why, for the client: appended to the text of a 403 and shown in access reviews. */
  readonly reason: string
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>
}

const noRequirements: readonly FieldRequirement[] = []

/** Of what is no selector nothing is known. */
export const fieldRequirements = (selector: string): readonly FieldRequirement[] => {
  if (selector === '') return noRequirements
  try {
    return parseFieldSelector(selector)
  } catch (error) {
    if (error instanceof SelectorError) return noRequirements
    throw error
  }
}

export const attributesOf = (user: UserInfo, info: RequestInfo): Attributes => ({
  user,
  verb: info.verb,
  isResourceRequest: info.isResourceRequest,
  path: info.path,
  apiGroup: info.apiGroup,
  apiVersion: info.apiVersion,
  resource: info.resource,
  subresource: info.subresource,
  namespace: info.namespace,
  name: info.name,
  fieldSelector: fieldRequirements(info.fieldSelector),
})

export const noOpinion: Decision = { decision: 'no opinion', reason: '' }
export const allowed: Decision = { decision: 'allow', reason: '' }

/** Members of system:masters may do everything; upstream's privileged group authorizer, always first. */
export const privilegedGroup: Authorizer = {
  authorize: ({ user }) => (user.groups.includes('system:masters') ? allowed : noOpinion),
}

/** The first allow or deny counts; reasons of the others are joined. */
export const unionAuthorizer = (authorizers: readonly Authorizer[]): Authorizer => {
  const next = (
    attributes: Attributes,
    start: number,
    reasons: string[],
  ): Decision | Promise<Decision> => {
    const settle = (decision: Decision, at: number) =>
      decision.decision === 'no opinion'
        ? next(attributes, at + 1, decision.reason === '' ? reasons : [...reasons, decision.reason])
        : decision
    for (let i = start; i < authorizers.length; i++) {
      const decision = authorizers[i]!.authorize(attributes)
      if (decision instanceof Promise) return decision.then((known) => settle(known, i))
      if (decision.decision !== 'no opinion') return decision
      if (decision.reason !== '') reasons = [...reasons, decision.reason]
    }
    return { decision: 'no opinion', reason: reasons.join('\n') }
  }
  return { authorize: (attributes) => next(attributes, 0, []) }
}
