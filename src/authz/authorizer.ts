/** Authorizers: a user and what is asked for in; allow, deny or no opinion out. */

import { clockMovesPath, clockPath } from '#api/movable-clock.js'
import type { RequestInfo } from '#api/request-info.js'
import {
  type FieldRequirement,
  type LabelRequirement,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '#api/selectors.js'
import { authenticatedGroup, mastersGroup, type UserInfo } from '#api/user-info.js'
import { aggregate } from '#go/aggregate.js'

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
  /** Requirements that all requested objects meet; missing if unknown. */
  readonly fieldSelector?: readonly FieldRequirement[]
  /** Likewise; parsed when it is needed. */
  readonly labelSelector?: () => readonly LabelRequirement[]
}

export interface Decision {
  readonly decision: 'allow' | 'deny' | 'no opinion'
  /** Why, for the client: appended to the text of a 403 and shown in access reviews. */
  readonly reason: string
  /** Errors of authorizers. An allowed request is allowed in spite of them. */
  readonly errors?: readonly string[]
}

/** The errors as one text, empty if there are none. */
export const errorOf = ({ errors = [] }: Decision): string => aggregate(errors) ?? ''

/** Errors and reason of a refusal, in one text. */
export const errorAndReasonOf = (made: Decision): string =>
  [errorOf(made), made.reason].filter((text) => text !== '').join(': ')

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>
}

const noRequirements: readonly never[] = []

/** An invalid selector has no requirements. */
const requirementsOf = <T>(selector: string, parse: (text: string) => readonly T[]) => {
  if (selector === '') return noRequirements
  try {
    return parse(selector)
  } catch (error) {
    if (error instanceof SelectorError) return noRequirements
    throw error
  }
}

export const fieldRequirements = (selector: string): readonly FieldRequirement[] =>
  requirementsOf(selector, parseFieldSelector)

const noLabels = (): readonly LabelRequirement[] => noRequirements
export const labelRequirements = (selector: string): (() => readonly LabelRequirement[]) =>
  selector === '' ? noLabels : () => requirementsOf(selector, parseLabelSelector)

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
  labelSelector: labelRequirements(info.labelSelector),
})

export const noOpinion: Decision = { decision: 'no opinion', reason: '' }
export const allowed: Decision = { decision: 'allow', reason: '' }

/** Members of system:masters may do everything; upstream's privileged group authorizer, always first. */
export const privilegedGroup: Authorizer = {
  authorize: ({ user }) => (user.groups.includes(mastersGroup) ? allowed : noOpinion),
}

/** Everybody who is known may ask what time it is in the cluster: kubelets and controllers go by it. */
export const clockReaders: Authorizer = {
  authorize: ({ path, verb, user }) =>
    (path === clockPath || path === clockMovesPath) &&
    verb === 'get' &&
    user.groups.includes(authenticatedGroup)
      ? allowed
      : noOpinion,
}

const saysNothing = ({ reason, errors }: Decision): boolean => reason === '' && errors === undefined

/** Joins decisions without an opinion. */
const undecided = (decisions: readonly Decision[]): Decision => {
  if (decisions.length === 0) return noOpinion
  const reasons = decisions.map(({ reason }) => reason).filter((reason) => reason !== '')
  const errors = decisions.flatMap((one) => one.errors ?? [])
  return {
    decision: 'no opinion',
    reason: reasons.join('\n'),
    ...(errors.length > 0 && { errors }),
  }
}

/** The first allow or deny decides; reasons and errors of those before are joined. */
export const unionAuthorizer = (authorizers: readonly Authorizer[]): Authorizer => {
  const next = (
    attributes: Attributes,
    start: number,
    before: readonly Decision[],
  ): Decision | Promise<Decision> => {
    const settle = (decision: Decision, at: number) => {
      if (decision.decision !== 'no opinion') return decision
      return next(attributes, at + 1, saysNothing(decision) ? before : [...before, decision])
    }
    for (let i = start; i < authorizers.length; i++) {
      const decision = authorizers[i]!.authorize(attributes)
      if (decision instanceof Promise) return decision.then((known) => settle(known, i))
      if (decision.decision !== 'no opinion') return decision
      if (!saysNothing(decision)) before = [...before, decision]
    }
    return undecided(before)
  }
  return { authorize: (attributes) => next(attributes, 0, []) }
}
