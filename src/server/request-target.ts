/**
 * The request target as Go's net/url reads it, once for everybody: an escaped slash separates as a plain one does, a `#`
 * is a character of the path, slashes at the end do not count, and query pairs that cannot be read are left out.
 */

const badEscape = /%(?![0-9A-Fa-f]{2})/
/** What makes a target different from how routers and URLSearchParams read it. */
const needsCare = /%2[fF]|%[89a-fA-F]|[#;]|%(?![0-9A-Fa-f]{2})|\/\/(?:\?|$)/

const isReadable = (pair: string): boolean => !pair.includes(';') && !badEscape.test(pair)

/** Bytes that are no UTF-8 are kept by Go as they are; here they become U+FFFD. */
const decodeSegment = (segment: string): string => {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    const bytes = segment.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    return Buffer.from(bytes, 'latin1').toString('utf8')
  }
}

const cleanPath = (path: string): string => {
  // Go refuses the request; so does the router, which is left to see it.
  if (badEscape.test(path)) return path
  const segments = path.replace(/%2[fF]/g, '/').split('/')
  if (segments.every((segment) => segment === '')) return path
  // Upstream knows this root with one slash and without, but not with more.
  if (/^\/apis(?:\/|%2[fF]){2}/.test(path)) return path.replace(/%2[fF]/g, '/')
  while (segments.at(-1) === '' && segments.at(-2) === '') segments.pop()
  return segments.map((segment) => encodeURIComponent(decodeSegment(segment))).join('/')
}

export const cleanTarget = (target: string): string => {
  if (!needsCare.test(target) || !target.startsWith('/')) return target
  const mark = target.indexOf('?')
  if (mark < 0) return cleanPath(target)
  const pairs = target.slice(mark + 1).split('&')
  return `${cleanPath(target.slice(0, mark))}?${pairs.filter(isReadable).join('&')}`
}
