/** URLs as Go's net/url reads them: what it refuses and why, and the parts that upstream looks at. WHATWG's rules differ. */

import { parseAddress } from './ip-address.js'
import { goQuote } from './quote.js'

export interface GoUrl {
  readonly scheme: string
  /** What follows the scheme of a URL without a path, as in mailto:a@b. */
  readonly opaque: string
  /** The text before the @; undefined where there is none. */
  readonly user: string | undefined
  readonly host: string
  /** As it was given, not unescaped. */
  readonly path: string
  readonly query: string
  readonly fragment: string
}

/** Why a part is wrong. */
class UrlFault extends Error {}

const cutAt = (text: string, mark: string): [string, string?] => {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)]
}

/** As Go cuts bytes: of a character that is cut through, the bytes are printed one by one. */
const quoteBytes = (bytes: Buffer): string => {
  for (let end = bytes.length; end >= 0; end--) {
    const text = bytes.subarray(0, end).toString()
    if (!Buffer.from(text).equals(bytes.subarray(0, end))) continue
    const rest = [...bytes.subarray(end)].map((byte) => `\\x${byte.toString(16)}`)
    return `${goQuote(text).slice(0, -1)}${rest.join('')}"`
  }
  return '""'
}

type Part = 'host' | 'zone' | 'other'
const inHost = /[\w\-.~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}]/u

const escapedByteIsAllowed = (hex: string, part: Part): boolean => {
  const byte = Number.parseInt(hex, 16)
  if (part === 'other' || byte === 0x25) return true
  // RFC 6874: a zone may escape what could stand in a host as it is, and Windows puts spaces there.
  if (part === 'zone')
    return byte === 0x20 || (byte < 0x80 && inHost.test(String.fromCharCode(byte)))
  return byte >= 0x80
}

/** Only ASCII is looked at, so that a text may be read character by character. */
const checkEscapes = (text: string, part: Part): void => {
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '%') {
      const hex = text.slice(i + 1, i + 3)
      if (!/^[0-9a-f]{2}$/i.test(hex) || !escapedByteIsAllowed(hex, part)) {
        const bytes = Buffer.from(text.slice(i, i + 4)).subarray(0, 3)
        throw new UrlFault(`invalid URL escape ${quoteBytes(bytes)}`)
      }
      i += 2
    } else if (part !== 'other' && !inHost.test(text[i]!) && text[i]! < '\u0080')
      throw new UrlFault(`invalid character ${goQuote(text[i]!)} in host name`)
  }
}

const unescaped = (text: string, part: Part): string => {
  checkEscapes(text, part)
  if (!text.includes('%')) return text
  const bytes = Buffer.from(text).toString('latin1')
  const plain = bytes.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(plain, 'latin1').toString()
}

const checkPort = (port: string): void => {
  if (!/^(?::\d*)?$/.test(port)) throw new UrlFault(`invalid port ${goQuote(port)} after host`)
}

const bracketedHost = (host: string): string => {
  const end = host.lastIndexOf(']')
  if (end < 0) throw new UrlFault("missing ']' in host")
  const port = host.slice(end + 1)
  checkPort(port)
  const [address, zone] = cutAt(host.slice(1, end), '%25')
  const name =
    unescaped(address, 'host') + (zone === undefined ? '' : unescaped(`%25${zone}`, 'zone'))
  let parsed: ReturnType<typeof parseAddress>
  try {
    parsed = parseAddress(name)
  } catch (error) {
    throw new UrlFault(`invalid host: ${(error as Error).message}`)
  }
  if (parsed.address.family === 4) throw new UrlFault('invalid IP-literal')
  return `[${name}]${port}`
}

const readHost = (host: string, scheme: string): string => {
  const bracket = host.lastIndexOf('[')
  if (bracket > 0) throw new UrlFault('invalid IP-literal')
  if (bracket === 0) return bracketedHost(host)
  // Databases have lists of hosts with ports; what is spoken over HTTP has one.
  const isHttp = scheme === 'http' || scheme === 'https'
  const colon = isHttp ? host.indexOf(':') : host.lastIndexOf(':')
  if (colon >= 0) checkPort(host.slice(colon))
  return unescaped(host, 'host')
}

const readAuthority = (authority: string, scheme: string): Pick<GoUrl, 'user' | 'host'> => {
  const at = authority.lastIndexOf('@')
  const host = readHost(authority.slice(at + 1), scheme)
  if (at < 0) return { user: undefined, host }
  const user = authority.slice(0, at)
  if (!/^[\w\-.~!$&'()*+,;=:%@]*$/.test(user)) throw new UrlFault('net/url: invalid userinfo')
  for (const part of cutAt(user, ':')) checkEscapes(part ?? '', 'other')
  return { user, host }
}

const schemeOf = (text: string): string => {
  if (text.startsWith(':')) throw new UrlFault('missing protocol scheme')
  return /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1] ?? ''
}

const read = (text: string, isRequest: boolean): GoUrl => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go refuses them
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw new UrlFault('net/url: invalid control character in URL')
  if (text === '' && isRequest) throw new UrlFault('empty url')
  const named = schemeOf(text)
  const scheme = named.toLowerCase()
  const [address, query = ''] = cutAt(named === '' ? text : text.slice(named.length + 1), '?')
  const nothing = { scheme, opaque: '', user: undefined, host: '', path: '', query, fragment: '' }
  if (text === '*') return { ...nothing, path: '*' }
  if (!address.startsWith('/')) {
    if (scheme !== '') return { ...nothing, opaque: address }
    if (isRequest) throw new UrlFault('invalid URI for request')
    if (address.split('/', 1)[0]!.includes(':'))
      throw new UrlFault('first path segment in URL cannot contain colon')
  }
  const hasAuthority =
    address.startsWith('//') && (scheme !== '' || (!isRequest && !address.startsWith('///')))
  const slash = hasAuthority ? address.indexOf('/', 2) : 0
  const path = slash < 0 ? '' : address.slice(slash)
  const authority = hasAuthority ? address.slice(2, slash < 0 ? undefined : slash) : undefined
  const who = authority === undefined ? {} : readAuthority(authority, scheme)
  checkEscapes(path, 'other')
  return { ...nothing, ...who, path }
}

const orFault = <T>(text: string, from: () => T): T | string => {
  try {
    return from()
  } catch (error) {
    if (error instanceof UrlFault) return `parse ${goQuote(text)}: ${error.message}`
    throw error
  }
}

/** The parts of a URL as Go's url.Parse sees them; a text says what is wrong. */
export const parseUrl = (text: string): GoUrl | string => {
  const [main, fragment = ''] = cutAt(text, '#')
  const url = orFault(main, () => read(main, false))
  if (typeof url === 'string' || fragment === '') return url
  return orFault(text, () => {
    checkEscapes(fragment, 'other')
    return { ...url, fragment }
  })
}

/** As url.ParseRequestURI: an absolute URL or path, in which a # begins no fragment. */
export const parseRequestUri = (text: string): GoUrl | string =>
  orFault(text, () => read(text, true))
