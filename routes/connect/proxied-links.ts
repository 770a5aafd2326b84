/**
 * Links of pages that are shown through a proxy lead through it, too: those without a host, and those of the page's
 * own. Upstream: apimachinery, pkg/util/proxy/transport.go.
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

/** Where tags name others' places. */
const linkNames: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Only what links are written with: whatever else there is goes through a link as it is. */
const unescaped = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi,
    (all, ten, hex, name) => {
      if (name) return named[name.toLowerCase()] ?? all
      const code = ten ? Number(ten) : Number.parseInt(hex, 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : all
    },
  )
const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  "'": '&#39;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
}
const escaped = (text: string): string => text.replace(/[&'<>"]/g, (char) => escapes[char]!)

/** Where tags end whose content is no markup. */
const ends = new Map(
  'iframe noembed noframes plaintext script style textarea title xmp'
    .split(' ')
    .map((tag) => [tag, new RegExp(`</${tag}`, 'gi')]),
)

const nameOfTag = /[a-z][^\s/>]*/iy
const betweenAttributes = /[\s/]*/y
const nameOfAttribute = /=?[^\s=/>]*/y
const equals = /\s*=\s*/y
const bareValue = /[^\s>]*/y

interface Attribute {
  readonly name: string
  readonly value: string
  readonly start: number
  readonly end: number
}

/** Reads a page from its beginning to its end, each place once. */
class Scanner {
  readonly #html: string
  at = 0
  constructor(html: string) {
    this.#html = html
  }

  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#html)?.[0]
    this.at += found?.length ?? 0
    return found
  }

  /** Behind the next one of these; false when there is none. */
  skipPast(text: string): boolean {
    const found = this.#html.indexOf(text, this.at)
    if (found >= 0) this.at = found + text.length
    return found >= 0
  }

  skipTo(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#html)
    if (found) this.at = found.index
    return found !== null
  }

  isAt(text: string): boolean {
    return this.#html.startsWith(text, this.at)
  }

  /** Undefined where the page ends within it. */
  attribute(): Attribute | undefined {
    const start = this.at
    const name = this.take(nameOfAttribute)!.toLowerCase()
    if (this.take(equals) === undefined) return { name, value: '', start, end: this.at }
    const quote = this.#html[this.at] ?? ''
    if (quote !== '"' && quote !== "'") {
      const value = this.take(bareValue)!
      return { name, value, start, end: this.at }
    }
    this.at += 1
    const from = this.at
    if (!this.skipPast(quote)) return undefined
    return { name, value: this.#html.slice(from, this.at - 1), start, end: this.at }
  }

  /** What a tag says behind its name; undefined where the page ends within it. */
  attributes(): Attribute[] | undefined {
    const all: Attribute[] = []
    for (;;) {
      this.take(betweenAttributes)
      if (this.isAt('>')) {
        this.at += 1
        return all
      }
      const start = this.at
      const attribute = this.attribute()
      if (attribute === undefined || this.at === start) return undefined
      all.push(attribute)
    }
  }
}

/** Past what is no start tag; false where the page ends within it. */
const skipOther = (scanner: Scanner): boolean => {
  if (scanner.isAt('!--')) return scanner.skipPast('-->')
  return scanner.isAt('!') || scanner.isAt('?') || scanner.isAt('/') ? scanner.skipPast('>') : true
}

export const rewriteHtml = (html: string, page: ProxiedPage): string => {
  const scanner = new Scanner(html)
  let text = ''
  let copied = 0
  while (scanner.skipPast('<')) {
    const tag = scanner.take(nameOfTag)?.toLowerCase()
    if (tag === undefined) {
      if (!skipOther(scanner)) break
      continue
    }
    const attributes = scanner.attributes()
    if (attributes === undefined) break
    for (const { name, value, start, end } of attributes) {
      if (!linkNames[tag]?.includes(name)) continue
      const link = unescaped(value)
      const next = rewriteLink(link, page)
      if (next === link) continue
      text += `${html.slice(copied, start)}${name}="${escaped(next)}"`
      copied = end
    }
    const end = ends.get(tag)
    if (end && !scanner.skipTo(end)) break
  }
  return text + html.slice(copied)
}
