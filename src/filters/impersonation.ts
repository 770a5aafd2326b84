/**
 * Impersonate-User, -Group, -Uid and -Extra-*: the request goes on as somebody else, when the asker may do that.
 * Rules and texts: upstream's pkg/endpoints/filters/impersonation.
 */
import type { FastifyRequest } from 'fastify'
import { type ApiError, aggregateMessage, badRequest } from '#api/errors.js'
import { isDns1123Subdomain } from '#api/names.js'
import {
  anonymousUser,
  authenticatedGroup,
  isServiceAccountOnNode,
  mastersGroup,
  nodesGroup,
  nodeUserPrefix,
  serviceAccountGroups,
  splitServiceAccountUsername,
  type UserInfo,
  unauthenticatedGroup,
} from '#api/user-info.js'
import { headerValues, valuesByKey } from '#authn/header-values.js'
import {
  type Attributes,
  type Authorizer,
  attributesOf,
  errorAndReasonOf,
} from '#authz/authorizer.js'
import { Kept } from '#collections/kept.js'
import { goQuote, goStrings } from '#go/quote.js'
import { sortedEntries } from '#json/entries.js'
import { setOwn } from '#json/object.js'
import { limits } from '#limits'
import { validDomainPrefixedPath } from '#validation/formats.js'
import { refusedByFilter, unsniffed } from './authorization.js'
import type { Filter, KubeRequest } from './kube-request.js'

const extraPrefix = 'impersonate-extra-'
/** From this many checks of one kind on, constrained modes first make one check with a wildcard. */
const manyChecks = 4
/** The verb `impersonate` on users, groups and the rest, as it has always been. */
const legacyMode = 'legacy'

interface Wanted {
  name: string
  uid: string
  groups: string[]
  extra: Record<string, string[]>
}

const asksForOther = ({ raw: { headers } }: FastifyRequest): boolean => {
  for (const name in headers) if (name.startsWith('impersonate-')) return true
  return false
}

const readWanted = (request: FastifyRequest): Wanted | undefined => {
  if (!asksForOther(request)) return undefined
  const extra: Record<string, string[]> = {}
  for (const [key, values] of valuesByKey(request, extraPrefix)) setOwn(extra, key, [...values])
  const wanted = {
    name: headerValues(request, 'impersonate-user')[0] ?? '',
    uid: headerValues(request, 'impersonate-uid')[0] ?? '',
    groups: headerValues(request, 'impersonate-group'),
    extra,
  }
  const some = wanted.name !== '' || wanted.uid !== '' || wanted.groups.length > 0
  return some || Object.keys(extra).length > 0 ? wanted : undefined
}

/** Go's %#v of user.DefaultInfo: upstream prints it in the message. */
const printWanted = ({ uid, groups, extra }: Wanted): string => {
  const groupText = groups.length === 0 ? '[]string(nil)' : goStrings(groups)
  const entries = sortedEntries(extra)
  const extraText =
    entries.length === 0
      ? 'map[string][]string(nil)'
      : `map[string][]string{${entries.map(([k, v]) => `${goQuote(k)}:${goStrings(v)}`).join(', ')}}`
  return `&user.DefaultInfo{Name:"", UID:${goQuote(uid)}, Groups:${groupText}, Extra:${extraText}}`
}

/** Who the request goes on as: groups that follow from the name are added. */
const impersonated = (wanted: Wanted, fixedGroups: readonly string[] | undefined): UserInfo => {
  const account = splitServiceAccountUsername(wanted.name)
  const groups = [...(fixedGroups ?? wanted.groups)]
  if (account !== undefined && wanted.groups.length === 0)
    groups.push(...serviceAccountGroups(account.namespace))
  const add = (group: string) => {
    if (!groups.includes(group)) groups.push(group)
  }
  if (wanted.name === anonymousUser.name) add(unauthenticatedGroup)
  else if (!groups.includes(unauthenticatedGroup)) add(authenticatedGroup)
  return {
    name: wanted.name,
    ...(wanted.uid === '' ? {} : { uid: wanted.uid }),
    groups,
    ...(Object.keys(wanted.extra).length === 0 ? {} : { extra: wanted.extra }),
  }
}

const resourceAttributes = (
  user: UserInfo,
  verb: string,
  what: { group: string; resource: string; subresource?: string; namespace?: string; name: string },
): Attributes => ({
  user,
  verb,
  isResourceRequest: true,
  path: '',
  apiGroup: what.group,
  apiVersion: 'v1',
  resource: what.resource,
  subresource: what.subresource ?? '',
  namespace: what.namespace ?? '',
  name: what.name,
})

const authentication = 'authentication.k8s.io'

/** The node of `system:node:<name>`. */
const parseNodeName = (user: string): string | undefined => {
  const name = user.startsWith(nodeUserPrefix) ? user.slice(nodeUserPrefix.length) : ''
  return name !== '' && isDns1123Subdomain(name).length === 0 ? name : undefined
}

const isOnlyName = ({ uid, groups, extra }: Wanted): boolean =>
  uid === '' && groups.length === 0 && Object.keys(extra).length === 0

/** One way to be allowed. Upstream calls them modes and tries them in this order. */
interface Mode {
  readonly name: string
  /** Whether this mode has anything to say about such a user. */
  fits(wanted: Wanted, asker: UserInfo): boolean
}

const modes: readonly Mode[] = [
  {
    name: 'associated-node',
    fits: (wanted, asker) =>
      isOnlyName(wanted) && isServiceAccountOnNode(asker, parseNodeName(wanted.name)),
  },
  {
    name: 'arbitrary-node',
    fits: (wanted) => isOnlyName(wanted) && parseNodeName(wanted.name) !== undefined,
  },
  {
    name: 'serviceaccount',
    fits: (wanted) => isOnlyName(wanted) && splitServiceAccountUsername(wanted.name) !== undefined,
  },
  {
    name: 'user-info',
    fits: ({ name }) =>
      parseNodeName(name) === undefined && splitServiceAccountUsername(name) === undefined,
  },
  { name: legacyMode, fits: () => true },
]

const subjectOf = (asker: UserInfo, wanted: Wanted, mode: string): Attributes => {
  const isLegacy = mode === legacyMode
  const verb = isLegacy ? 'impersonate' : `impersonate:${mode}`
  const group = isLegacy ? '' : authentication
  const account = splitServiceAccountUsername(wanted.name)
  if (account !== undefined)
    return resourceAttributes(asker, verb, { group, resource: 'serviceaccounts', ...account })
  const node = isLegacy ? undefined : parseNodeName(wanted.name)
  if (node === undefined)
    return resourceAttributes(asker, verb, { group, resource: 'users', name: wanted.name })
  // Rules for associated-node name no node: they hold for whichever node is the asker's.
  const name = mode === 'associated-node' ? '*' : node
  return resourceAttributes(asker, verb, { group, resource: 'nodes', name })
}

/** One question of a mode, or several of a kind. */
interface Step {
  readonly checks: readonly Attributes[]
  /** Checked first where there are many checks: if it is allowed, the others need not be made. */
  readonly wildcard?: Attributes
  /** What constrained modes never allow, whatever the rules say, and why. */
  readonly outright?: { readonly about: Attributes; readonly why: string }
}

type Ask = (what: Parameters<typeof resourceAttributes>[2]) => Attributes

const groupsStep = (groups: readonly string[], group: string, ask: Ask): Step => {
  const about = (name: string) => ask({ group, resource: 'groups', name })
  const checks = groups.map(about)
  if (group === '') return { checks }
  const refuse = (name: string, why: string): Step => ({
    checks,
    outright: { about: about(name), why },
  })
  if (groups.includes('')) return refuse('', 'impersonating the empty string group is not allowed')
  if (groups.includes(mastersGroup))
    return refuse(mastersGroup, 'impersonating the system:masters group is not allowed')
  return groups.length < manyChecks ? { checks } : { checks, wildcard: about('*') }
}

/** Why a constrained mode does not allow these extras. */
const extraProblem = (extra: Wanted['extra']): string | undefined => {
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed'
    const errors = validDomainPrefixedPath('extra.key', key)
    if (errors.length > 0)
      return `impersonating an invalid key in extra is not allowed: ${aggregateMessage(errors)}`
    if (key !== key.toLowerCase())
      return `impersonating a non-lowercase key in extra is not allowed: ${goQuote(key)}`
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed'
  }
  return undefined
}

const extraStep = (extra: Wanted['extra'], isLegacy: boolean, ask: Ask): Step => {
  const about = (subresource: string, name: string) =>
    ask({ group: authentication, resource: 'userextras', subresource, name })
  const checks = Object.entries(extra).flatMap(([key, values]) =>
    values.map((value) => about(key, value)),
  )
  if (isLegacy) return { checks }
  const why = extraProblem(extra)
  if (why !== undefined) return { checks, outright: { about: about('', ''), why } }
  return checks.length < manyChecks ? { checks } : { checks, wildcard: about('*', '*') }
}

/** What has to be allowed, in upstream's order. */
const stepsOf = (asker: UserInfo, wanted: Wanted, mode: string): Step[] => {
  const subject = subjectOf(asker, wanted, mode)
  const ask: Ask = (what) => resourceAttributes(asker, subject.verb, what)
  const uids = wanted.uid === '' ? [] : [wanted.uid]
  return [
    { checks: [subject] },
    { checks: uids.map((name) => ask({ group: authentication, resource: 'uids', name })) },
    groupsStep(wanted.groups, subject.apiGroup, ask),
    extraStep(wanted.extra, mode === legacyMode, ask),
  ]
}

/** `last` allowed the user the last time. It is tried first, and if no mode allows, its refusal is the answer. */
const inOrder = (last: Mode | undefined): readonly Mode[] =>
  last === undefined ? modes : [last, ...modes.filter((mode) => mode !== last)]

interface Asker {
  lastMode?: Mode
}

export const impersonation = (authorizer: Authorizer): Filter => {
  const askers = new Kept<Asker>(limits.impersonationModesKept)
  return (request) => {
    const wanted = readWanted(request)
    if (wanted === undefined) return
    if (wanted.name === '')
      throw unsniffed(
        badRequest(`requested ${printWanted(wanted)} without impersonating a user name`),
      )
    const asker = askers.of(request.kube.user.name, () => ({}))
    return impersonateAs(authorizer, wanted, request.kube, asker)
  }
}

const refusalOfStep = async (authorizer: Authorizer, step: Step): Promise<ApiError | undefined> => {
  const { checks, wildcard, outright } = step
  if (outright !== undefined) return refusedByFilter(outright.about, outright.why)
  if (wildcard !== undefined && (await authorizer.authorize(wildcard)).decision === 'allow')
    return undefined
  for (const check of checks) {
    const made = await authorizer.authorize(check)
    if (made.decision !== 'allow') return refusedByFilter(check, errorAndReasonOf(made))
  }
  return undefined
}

/**
 * Who asks, as authorizers see it. On its own node a ServiceAccount is the same in each of its Pods: of what their tokens
 * say only the keys are told.
 */
const askerOf = (user: UserInfo, mode: string): UserInfo => {
  if (mode !== 'associated-node') return user
  const keys = Object.keys(user.extra ?? {}).sort()
  return { ...user, extra: { 'authentication.kubernetes.io/associated-node-keys': keys } }
}

/** Why a mode refuses; undefined when it allows. */
const refusalOf = async (
  authorizer: Authorizer,
  wanted: Wanted,
  { user, info }: KubeRequest,
  mode: string,
): Promise<ApiError | undefined> => {
  const asker = askerOf(user, mode)
  const own = attributesOf(asker, info)
  const on = { ...own, verb: `impersonate-on:${mode}:${own.verb}` }
  const steps = stepsOf(asker, wanted, mode)
  for (const step of mode === legacyMode ? steps : [{ checks: [on] }, ...steps]) {
    const refusal = await refusalOfStep(authorizer, step)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

const impersonateAs = async (
  authorizer: Authorizer,
  wanted: Wanted,
  kube: KubeRequest,
  asker: Asker,
): Promise<void> => {
  let first: ApiError | undefined
  for (const mode of inOrder(asker.lastMode)) {
    if (!mode.fits(wanted, kube.user)) continue
    const refusal = await refusalOf(authorizer, wanted, kube, mode.name)
    if (refusal === undefined) {
      asker.lastMode = mode
      kube.user = impersonated(wanted, mode.name.endsWith('-node') ? [nodesGroup] : undefined)
      kube.audit?.impersonates(
        kube.user,
        mode.name === legacyMode ? '' : `impersonate:${mode.name}`,
      )
      return
    }
    first ??= refusal
  }
  throw first!
}
