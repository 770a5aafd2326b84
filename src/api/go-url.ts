/** URLs as Go's net/url reads them: what it refuses, and the parts that upstream's checks look at. */
import { goQuote } from './go-quote.js'

interface UrlParts {
  readonly scheme: string
  readonly host: string
  readonly user: string
  readonly query: string
  readonly fragment: string
}

/** The parts of a URL as Go's url.Parse sees them; a text says what is wrong. */
export const parseUrl = (text: string): UrlParts | string => {
  const wrong = (why: string): string => `parse ${goQuote(text)}: ${why}`
  const [main, fragment = ''] = cutAt(text, '#')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go refuses them
  if (/[\u0000-\u001f\u007f]/.test(main)) return wrong('net/url: invalid control character in URL')
  if (main.startsWith(':')) return wrong('missing protocol scheme')
  const [, scheme = '', rest = ''] = /^(?:([a-z][a-z0-9+.-]*):)?(.*)$/is.exec(main)!
  const [address, query = ''] = cutAt(rest, '?')
  if (scheme === '' && !address.startsWith('/') && address.split('/')[0]!.includes(':'))
    return wrong('first path segment in URL cannot contain colon')
  const badEscape = /%(?![0-9a-f]{2}).{0,2}/i.exec(address)?.[0]
  if (badEscape !== undefined) return wrong(`invalid URL escape ${goQuote(badEscape)}`)
  const authority = address.startsWith('//') ? address.slice(2).split('/')[0]! : ''
  const at = authority.lastIndexOf('@')
  return {
    scheme: scheme.toLowerCase(),
    host: authority.slice(at + 1),
    user: at < 0 ? '' : authority.slice(0, at),
    query,
    fragment,
  }
}

const cutAt = (text: string, mark: string): [string, string?] => {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
