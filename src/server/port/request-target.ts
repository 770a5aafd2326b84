/**
 * Normalises the request target to what Go's net/url reads: an escaped slash separates like a plain one, `#` belongs to
 * the path, slashes at the end do not count, and unreadable query pairs are dropped.
 */

import { badEscape, pathUnescape } from '#go/path-unescape.js'

/** Characters for which Go's reading differs from that of routers and URLSearchParams. */
const needsCare = /%2[fF]|%[89a-fA-F]|[#;]|%(?![0-9A-Fa-f]{2})|\/\/(?:\?|$)/

const isReadable = (pair: string): boolean => !pair.includes(';') && !badEscape.test(pair)

const cleanPath = (path: string): string => {
  // Go refuses the request, and so does the router.
  if (badEscape.test(path)) return path
  const segments = path.replace(/%2[fF]/g, '/').split('/')
  if (segments.every((segment) => segment === '')) return path
  // Upstream knows this root with one slash and without, but not with more.
  if (/^\/apis(?:\/|%2[fF]){2}/.test(path)) return path.replace(/%2[fF]/g, '/')
  while (segments.at(-1) === '' && segments.at(-2) === '') segments.pop()
  return segments.map((segment) => encodeURIComponent(pathUnescape(segment) ?? segment)).join('/')
}

export const cleanTarget = (target: string): string => {
  // The router takes `*` for the root.
  if (target === '*') return '/*'
  if (!needsCare.test(target) || !target.startsWith('/')) return target
  const mark = target.indexOf('?')
  if (mark < 0) return cleanPath(target)
  const pairs = target.slice(mark + 1).split('&')
  return `${cleanPath(target.slice(0, mark))}?${pairs.filter(isReadable).join('&')}`
}
