/** URLs as Go's net/url reads them (apiserver, pkg/cel/library/urls.go): WHATWG's rules differ. */
import { addToList } from '#collections/add-to-list.js'
import { type GoUrl, parseRequestUri, parseUrl } from '#go/url.js'
import type { Implementations } from '../evaluation.js'
import { CelError, EntryMap, KubernetesValue } from '../values.js'
import { work } from '../work.js'

class CelUrl extends KubernetesValue {
  readonly typeName = 'kubernetes.URL'
  readonly url: GoUrl
  /** A question mark that nothing follows is printed, too. */
  readonly #asksNothing: boolean
  constructor(url: GoUrl, text: string) {
    super()
    this.url = url
    this.#asksNothing = /^[^?#]*\?(?:#|$)/.test(text)
  }
  /** By what Go prints of them. */
  equals(other: this): boolean {
    const shown = ({ url }: CelUrl) => JSON.stringify({ ...url, path: escapedPath(url) })
    return this.#asksNothing === other.#asksNothing && shown(this) === shown(other)
  }
}

/** Why a text is no URI of a request, in Go's words. */
export const uriProblem = (text: string): string | undefined => {
  const url = parseRequestUri(text)
  return typeof url === 'string' ? url : undefined
}

const parse = (text: string): CelUrl => {
  const problem = uriProblem(text)
  // What a request may ask for is read again, as only then a # begins a fragment.
  const url = problem ?? parseUrl(text)
  if (typeof url === 'string')
    throw new CelError(`URL parse error during conversion from string: ${url}`)
  return new CelUrl(url, text)
}

const hostname = ({ url: { host } }: CelUrl): string =>
  host.startsWith('[') ? host.slice(1, host.lastIndexOf(']')) : host.replace(/:\d*$/, '')

const port = ({ url: { host } }: CelUrl): string =>
  /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? ''

/** Byte by byte: what is no UTF-8 stays as little of it as in any text of Go's that is printed. */
const unescaped = (text: string): Buffer => {
  const bytes = Buffer.from(text).toString('latin1')
  const plain = bytes.replace(/%(..)/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(plain, 'latin1')
}

/** Undefined for what Go cannot read (url.QueryUnescape). */
const decode = (text: string): string | undefined =>
  /%(?![0-9a-f]{2})/i.test(text) ? undefined : unescaped(text.replaceAll('+', ' ')).toString()

const query = ({ url }: CelUrl): EntryMap => {
  work(url.query.length / 10)
  const values = new Map<string, string[]>()
  for (const pair of url.query.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const equals = pair.indexOf('=')
    const key = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    if (key !== undefined && value !== undefined) addToList(values, key, value)
  }
  const map = new EntryMap()
  for (const [key, list] of values) map.add(key, list)
  return map
}

/** As it was given where that is escaped, escaped anew where it is not (net/url, URL.EscapedPath). */
const escapedPath = ({ path }: GoUrl): string => {
  if (/^[\w\-.~!$&'()*+,;=:@[\]/%]*$/.test(path)) return path
  return unescaped(path)
    .toString('latin1')
    .replace(
      /[^\w\-.~$&+,/:;=@]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )
}

export const urlFunctions: Implementations = {
  string_to_url: parse,
  is_url_string: (text: string) => uriProblem(text) === undefined,
  url_get_scheme: ({ url }: CelUrl) => url.scheme,
  url_get_host: ({ url }: CelUrl) => url.host,
  url_get_hostname: hostname,
  url_get_port: port,
  url_get_escaped_path: ({ url }: CelUrl) => escapedPath(url),
  url_get_query: query,
}
