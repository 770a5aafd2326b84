/** URLs as Go's net/url reads them (apiserver, pkg/cel/library/urls.go): WHATWG's rules differ. */
import { addToList } from '#collections/add-to-list.js'
import { type GoUrl, parseRequestUri, parseUrl } from '#go/url.js'
import type { Implementations } from '../evaluation.js'
import { CelError, EntryMap, KubernetesValue } from '../values.js'
import { work } from '../work.js'

class CelUrl extends KubernetesValue {
  readonly typeName = 'kubernetes.URL'
  readonly url: GoUrl
  constructor(url: GoUrl) {
    super()
    this.url = url
  }
  equals(other: this): boolean {
    return JSON.stringify(this.url) === JSON.stringify(other.url)
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
  return new CelUrl(url)
}

const hostname = ({ url: { host } }: CelUrl): string =>
  host.startsWith('[') ? host.slice(1, host.lastIndexOf(']')) : host.replace(/:\d*$/, '')

const port = ({ url: { host } }: CelUrl): string =>
  /:(\d*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? ''

const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))

const query = ({ url }: CelUrl): EntryMap => {
  work(url.query.length / 10)
  const values = new Map<string, string[]>()
  for (const pair of url.query.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const equals = pair.indexOf('=')
    try {
      const key = decode(equals < 0 ? pair : pair.slice(0, equals))
      const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
      addToList(values, key, value)
    } catch {
      // Go leaves out what it cannot read.
    }
  }
  const map = new EntryMap()
  for (const [key, list] of values) map.add(key, list)
  return map
}

/** As it was given where that is escaped, escaped anew where it is not (net/url, URL.EscapedPath). */
const escapedPath = ({ url: { path } }: CelUrl): string => {
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
  url_get_scheme: ({ url }: CelUrl) => url.scheme,
  url_get_host: ({ url }: CelUrl) => url.host,
  url_get_hostname: hostname,
  url_get_port: port,
  url_get_escaped_path: escapedPath,
  url_get_query: query,
}
