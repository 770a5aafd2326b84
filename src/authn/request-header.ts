/** Users that a front proxy names in headers. Upstream: pkg/authentication/request/headerrequest. */
import type { FastifyRequest } from 'fastify'
import type { UserInfo } from '#api/user-info.js'
import { getOwn, setOwn } from '#json/object.js'
import { withAuthenticatedGroup } from './authenticator.js'
import { headerValues, valuesByKey } from './header-values.js'

/** Names in lower case, in the order in which they are looked for. */
export interface RequestHeaders {
  readonly username: readonly string[]
  readonly uid: readonly string[]
  readonly group: readonly string[]
  readonly extraPrefix: readonly string[]
}

const firstOf = (request: FastifyRequest, names: readonly string[]): string => {
  for (const name of names) {
    const value = headerValues(request, name)[0]
    if (value) return value
  }
  return ''
}

const extraOf = (
  request: FastifyRequest,
  prefixes: readonly string[],
): Record<string, string[]> => {
  const extra: Record<string, string[]> = {}
  for (const prefix of prefixes)
    for (const [key, values] of valuesByKey(request, prefix))
      setOwn(extra, key, [...(getOwn(extra, key) ?? []), ...values])
  return extra
}

/** What aggregated servers take for the names of such headers wherever nothing else is configured. */
const standardNames: RequestHeaders = {
  username: ['x-remote-user'],
  uid: ['x-remote-uid'],
  group: ['x-remote-group'],
  extraPrefix: ['x-remote-extra-'],
}

/**
 * Removes the headers that name a user, whoever sent them: a server that a request goes on to, by our certificate, would
 * take them for our word. Upstream: ClearAuthenticationHeaders.
 */
export const headerClearer = (configured: RequestHeaders): ((request: FastifyRequest) => void) => {
  const all = [standardNames, configured]
  const names = new Set(all.flatMap(({ username, uid, group }) => [...username, ...uid, ...group]))
  const prefixes = [...new Set(all.flatMap(({ extraPrefix }) => extraPrefix))]
  return ({ raw: { headers } }) => {
    for (const name of Object.keys(headers))
      if (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix)))
        delete headers[name]
  }
}

/** Undefined if no header names a user. */
export const userOfHeaders = (
  request: FastifyRequest,
  names: RequestHeaders,
): UserInfo | undefined => {
  const name = firstOf(request, names.username)
  if (name === '') return undefined
  const uid = firstOf(request, names.uid)
  const extra = extraOf(request, names.extraPrefix)
  const user: UserInfo = {
    name,
    ...(uid === '' ? {} : { uid }),
    groups: names.group.flatMap((header) =>
      headerValues(request, header).filter((value) => value !== ''),
    ),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  }
  return withAuthenticatedGroup(user)
}
