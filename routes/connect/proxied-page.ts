/**
 * Rewrites links of pages that are shown through a proxy so that they lead through it, too: links without a host, and
 * links to the page's own host. Upstream: apimachinery, pkg/util/proxy/transport.go (rewriteURL).
 */
import path from 'node:path'

export interface ProxiedPage {
  /** The path of everything that is reached this way, without a slash at its end. */
  readonly prefix: string
  /** Of the page, as it was asked for there, and as its reader calls the server. */
  readonly hosts: readonly [origin: string, asked: string]
}

/** As Go writes the path again: without `.`, `..` and empty parts, and ending as it did. */
const joined = (prefix: string, rest: string): string => {
  const whole = path.posix.join(prefix, rest)
  return rest.endsWith('/') && !whole.endsWith('/') ? `${whole}/` : whole
}

export const rewriteLink = (link: string, { prefix, hosts }: ProxiedPage): string => {
  const [, scheme = '', authority = '', host = '', rest = ''] =
    /^((?:[a-z][a-z0-9+.-]*:)?)(\/\/([^/?#]*))?(.*)$/is.exec(link) ?? []
  const [, target = '', tail = ''] = /^([^?#]*)(.*)$/s.exec(rest) ?? []
  const isElsewhere = host !== '' && !hosts.includes(host)
  if (isElsewhere || !target.startsWith('/')) return link
  const base = host !== '' && host === hosts[1] ? `${scheme}${authority}` : ''
  return `${base}${target.startsWith(prefix) ? target : joined(prefix, target)}${tail}`
}
