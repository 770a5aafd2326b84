/** URLs as Go's net/url reads them (apiserver, pkg/cel/library/urls.go): WHATWG's rules differ. */
import type { Implementations } from '../evaluation.js'
import { CelError, EntryMap, KubernetesValue } from '../values.js'

class GoUrl extends KubernetesValue {
  readonly typeName = 'kubernetes.URL'
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
  readonly text: string
  constructor(parts: { scheme: string; host: string; path: string; query: string; text: string }) {
    super()
    this.scheme = parts.scheme
    this.host = parts.host
    this.path = parts.path
    this.query = parts.query
    this.text = parts.text
  }
  equals(other: this): boolean {
    return this.text === other.text
  }
}

const wrongEscape = (text: string, allowed: RegExp | undefined): string | undefined => {
  for (const match of text.matchAll(/%(.{0,2})/gs)) {
    const [whole, digits] = match as unknown as [string, string]
    if (!/^[0-9a-fA-F]{2}$/.test(digits) || (allowed !== undefined && !allowed.test(whole)))
      return `invalid URL escape ${JSON.stringify(whole)}`
  }
  return undefined
}

/** Why an authority is none; undefined for one that is. */
const hostProblem = (host: string): string | undefined => {
  const bracket = host.startsWith('[') ? host.lastIndexOf(']') : -1
  if (host.startsWith('[') && bracket < 0) return "missing ']' in host"
  const colon = host.startsWith('[') ? bracket + 1 : host.lastIndexOf(':')
  const port = colon < 0 ? '' : host.slice(colon)
  if (port !== '' && !/^:\d*$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`
  const wrong = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/.exec(host)
  if (wrong !== null) return `invalid character ${JSON.stringify(wrong[0])} in host name`
  return wrongEscape(host, /%[89a-fA-F][0-9a-fA-F]|%25/)
}

const read = (text: string): GoUrl | string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'net/url: invalid control character in URL'
  if (text === '') return 'empty url'
  const scheme = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(text)?.[1] ?? ''
  if (scheme === '' && text.startsWith(':')) return 'missing protocol scheme'
  let rest = scheme === '' ? text : text.slice(scheme.length + 1)
  const question = rest.indexOf('?')
  const query = question < 0 ? '' : rest.slice(question + 1)
  if (question >= 0) rest = rest.slice(0, question)
  const parts = { scheme: scheme.toLowerCase(), host: '', path: '', query, text }
  if (!rest.startsWith('/')) return scheme === '' ? 'invalid URI for request' : new GoUrl(parts)
  if (rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'))) {
    const slash = rest.indexOf('/', 2)
    const authority = rest.slice(2, slash < 0 ? undefined : slash)
    rest = slash < 0 ? '' : rest.slice(slash)
    const at = authority.lastIndexOf('@')
    if (at >= 0 && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at)))
      return 'net/url: invalid userinfo'
    parts.host = authority.slice(at + 1)
    const problem = hostProblem(parts.host)
    if (problem !== undefined) return problem
  }
  parts.path = rest
  return wrongEscape(rest, undefined) ?? new GoUrl(parts)
}

/** Why a text is no URI of a request, in Go's words. */
export const uriProblem = (text: string): string | undefined => {
  const url = read(text)
  return typeof url === 'string' ? `parse ${JSON.stringify(text)}: ${url}` : undefined
}

const parse = (text: string): GoUrl => {
  const problem = uriProblem(text)
  if (problem !== undefined)
    throw new CelError(`URL parse error during conversion from string: ${problem}`)
  const hash = text.indexOf('#')
  return read(hash < 0 ? text : text.slice(0, hash)) as GoUrl
}

const hostname = ({ host }: GoUrl): string =>
  host.startsWith('[') ? host.slice(1, host.lastIndexOf(']')) : host.replace(/:\d*$/, '')

const port = ({ host }: GoUrl): string => /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? ''

const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))

const query = (url: GoUrl): EntryMap => {
  const values = new Map<string, string[]>()
  for (const pair of url.query.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const equals = pair.indexOf('=')
    try {
      const key = decode(equals < 0 ? pair : pair.slice(0, equals))
      const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
      const list = values.get(key)
      if (list === undefined) values.set(key, [value])
      else list.push(value)
    } catch {
      // Go leaves out what it cannot read.
    }
  }
  const map = new EntryMap()
  for (const [key, list] of values) map.add(key, list)
  return map
}

/** As it was given where that is escaped, escaped anew where it is not (net/url, URL.EscapedPath). */
const escapedPath = ({ path }: GoUrl): string => {
  if (/^[\w\-.~!$&'()*+,;=:@[\]/%]*$/.test(path)) return path
  const bytes = Buffer.from(path).toString('latin1')
  const plain = bytes.replace(/%(..)/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return plain.replace(
    /[^\w\-.~$&+,/:;=@]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

export const urlFunctions: Implementations = {
  string_to_url: parse,
  is_url_string: (text: string) => uriProblem(text) === undefined,
  url_get_scheme: (url: GoUrl) => url.scheme,
  url_get_host: (url: GoUrl) => url.host,
  url_get_hostname: hostname,
  url_get_port: port,
  url_get_escaped_path: escapedPath,
  url_get_query: query,
}
