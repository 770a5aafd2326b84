/** Headers that name the user of a request to an aggregated API. Upstream: client-go, transport.SetAuthProxyHeaders. */
import type { UserInfo } from '#api/user-info.js'

/** Characters of a header's name; the percent sign, which escapes, is none of them. */
const legal = /[\w!#$&'*+.^`|~-]/

const escapeKey = (key: string): string =>
  [...Buffer.from(key)]
    .map((byte) => {
      const char = String.fromCharCode(byte)
      return legal.test(char) ? char : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
    })
    .join('')

/** Go sends the bytes of a text as they are; Node takes a character for a byte. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1')

export const frontProxyHeaders = ({
  name,
  uid,
  groups,
  extra = {},
}: UserInfo): Record<string, string | string[]> => ({
  'x-remote-user': bytesOf(name),
  ...(uid ? { 'x-remote-uid': bytesOf(uid) } : {}),
  ...(groups.length > 0 ? { 'x-remote-group': groups.map(bytesOf) } : {}),
  ...Object.fromEntries(
    Object.entries(extra).map(([key, values]) => [
      `x-remote-extra-${escapeKey(key)}`,
      values.map(bytesOf),
    ]),
  ),
})
