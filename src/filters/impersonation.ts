/**
 * Impersonate-User, -Group, -Uid and -Extra-*: the request goes on as somebody else, when the asker may do that.
 * Rules and texts: upstream's pkg/endpoints/filters/impersonation.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { badRequest } from '#api/errors.js'
import type { UserInfo } from '#api/user-info.js'
import { type Attributes, type Authorizer, attributesOf } from '#authz/authorizer.js'
import { forbiddenError } from './authorization.js'
import type { Filter } from './kube-request.js'

const extraPrefix = 'impersonate-extra-'
const anonymousName = 'system:anonymous'
const serviceAccountPrefix = 'system:serviceaccount:'

interface Wanted {
  name: string
  uid: string
  groups: string[]
  extra: Record<string, string[]>
}

const values = (headers: IncomingHttpHeaders, rawHeaders: readonly string[], name: string) => {
  if (headers[name] === undefined) return []
  const found: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === name) found.push(rawHeaders[i + 1]!)
  return found
}

const decodeKey = (key: string): string => {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

const readWanted = (
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
): Wanted | undefined => {
  const extra: Record<string, string[]> = {}
  let present = false
  for (const name in headers) {
    if (!name.startsWith('impersonate-')) continue
    if (name.startsWith(extraPrefix))
      extra[decodeKey(name.slice(extraPrefix.length))] = values(headers, rawHeaders, name)
    present = true
  }
  if (!present) return undefined
  const wanted = {
    name: (headers['impersonate-user'] as string | undefined) ?? '',
    uid: (headers['impersonate-uid'] as string | undefined) ?? '',
    groups: values(headers, rawHeaders, 'impersonate-group'),
    extra,
  }
  const some = wanted.name !== '' || wanted.uid !== '' || wanted.groups.length > 0
  return some || Object.keys(extra).length > 0 ? wanted : undefined
}

/** Go's %#v of user.DefaultInfo: upstream prints it in the message. */
const printWanted = ({ uid, groups, extra }: Wanted): string => {
  const strings = (list: readonly string[]) => list.map((item) => JSON.stringify(item)).join(', ')
  const groupText = groups.length === 0 ? '[]string(nil)' : `[]string{${strings(groups)}}`
  const entries = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1))
  const extraText =
    entries.length === 0
      ? 'map[string][]string(nil)'
      : `map[string][]string{${entries.map(([k, v]) => `${JSON.stringify(k)}:[]string{${strings(v)}}`).join(', ')}}`
  return `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${groupText}, Extra:${extraText}}`
}

/** The parts of `system:serviceaccount:<namespace>:<name>`. */
export const parseServiceAccountName = (
  user: string,
): { namespace: string; name: string } | undefined => {
  if (!user.startsWith(serviceAccountPrefix)) return undefined
  const parts = user.slice(serviceAccountPrefix.length).split(':')
  return parts.length === 2 && parts[0] && parts[1]
    ? { namespace: parts[0], name: parts[1] }
    : undefined
}

/** Who the request goes on as: groups that follow from the name are added. */
const impersonated = (wanted: Wanted): UserInfo => {
  const account = parseServiceAccountName(wanted.name)
  const groups = [...wanted.groups]
  if (account !== undefined && wanted.groups.length === 0)
    groups.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`)
  const add = (group: string) => {
    if (!groups.includes(group)) groups.push(group)
  }
  if (wanted.name === anonymousName) add('system:unauthenticated')
  else if (!groups.includes('system:unauthenticated')) add('system:authenticated')
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

/** What has to be allowed, in upstream's order; `mode` is empty for the classic verb `impersonate`. */
const checksOf = (asker: UserInfo, wanted: Wanted, mode: string): Attributes[] => {
  const verb = mode === '' ? 'impersonate' : `impersonate:${mode}`
  const account = parseServiceAccountName(wanted.name)
  const core = mode === '' ? '' : authentication
  const checks = [
    account === undefined
      ? resourceAttributes(asker, verb, { group: core, resource: 'users', name: wanted.name })
      : resourceAttributes(asker, verb, { group: core, resource: 'serviceaccounts', ...account }),
  ]
  if (wanted.uid !== '')
    checks.push(
      resourceAttributes(asker, verb, {
        group: authentication,
        resource: 'uids',
        name: wanted.uid,
      }),
    )
  for (const name of wanted.groups)
    checks.push(resourceAttributes(asker, verb, { group: core, resource: 'groups', name }))
  for (const [key, list] of Object.entries(wanted.extra))
    for (const name of list)
      checks.push(
        resourceAttributes(asker, verb, {
          group: authentication,
          resource: 'userextras',
          subresource: key,
          name,
        }),
      )
  return checks
}

export const impersonation =
  (authorizer: Authorizer): Filter =>
  (request) => {
    const wanted = readWanted(request.headers, request.raw.rawHeaders)
    if (wanted === undefined) return
    if (wanted.name === '')
      throw badRequest(`requested ${printWanted(wanted)} without impersonating a user name`)
    return impersonateAs(authorizer, wanted, request.kube)
  }

const impersonateAs = async (
  authorizer: Authorizer,
  wanted: Wanted,
  kube: Parameters<Filter>[0]['kube'],
): Promise<void> => {
  const allows = async (attributes: Attributes) =>
    (await authorizer.authorize(attributes)).decision === 'allow'
  const firstRefused = async (checks: readonly Attributes[]) => {
    for (const check of checks) if (!(await allows(check))) return check
    return undefined
  }
  if ((await firstRefused(checksOf(kube.user, wanted, ''))) !== undefined) {
    // Constrained impersonation: the mode names what kind of user it is, and the verb that is then asked for.
    const mode = parseServiceAccountName(wanted.name) === undefined ? 'user-info' : 'serviceaccount'
    const own = attributesOf(kube.user, kube.info)
    const on = { ...own, verb: `impersonate-on:${mode}:${own.verb}` }
    if (!(await allows(on))) throw forbiddenError(on)
    const refused = await firstRefused(checksOf(kube.user, wanted, mode))
    if (refused !== undefined) throw forbiddenError(refused)
  }
  kube.user = impersonated(wanted)
}
