/** subjectAltName of requests for certificates, read and written as Go's crypto/x509 does: RFC 5280, 4.2.1.6. */
import { goQuote } from '#go/quote.js'
import { parseUrl } from '#go/url.js'
import { der, type Element, readElement } from '#net/der.js'

/** In the order in which Go writes them. */
const tags = { dns: 0x82, email: 0x81, ip: 0x87, uri: 0x86 } as const
type NameKind = keyof typeof tags
const kinds = Object.keys(tags) as NameKind[]

interface AlternativeName {
  readonly kind: NameKind
  readonly content: Buffer
}

/** An address of IPv4 in the form of IPv6 has 16 bytes, the first of them these. */
const mapped = Buffer.from('00000000000000000000ffff', 'hex')

const asciiOf = (content: Buffer, name: string): string => {
  if (content.some((byte) => byte > 0x7f)) throw new Error(`x509: SAN ${name} is malformed`)
  return content.toString('latin1')
}

const checkUri = (content: Buffer): void => {
  const text = asciiOf(content, 'uniformResourceIdentifier')
  const url = parseUrl(text)
  if (typeof url === 'string') throw new Error(`x509: cannot parse URI ${goQuote(text)}: ${url}`)
}

const checks: Readonly<Record<NameKind, (content: Buffer) => unknown>> = {
  dns: (content) => asciiOf(content, 'dNSName'),
  email: (content) => asciiOf(content, 'rfc822Name'),
  uri: checkUri,
  ip: ({ length }) => {
    if (length !== 4 && length !== 16)
      throw new Error(`x509: cannot parse IP address of length ${length}`)
  },
}

const elementOf = (bytes: Buffer, why: string): Element => {
  try {
    return readElement(bytes)
  } catch {
    throw new Error(why)
  }
}

/** What is of another kind is left out. Throws, in Go's words, for what is no list of names. */
export const readAlternativeNames = (value: Buffer): AlternativeName[] => {
  const malformed = 'x509: invalid subject alternative names'
  const list = elementOf(value, malformed)
  if (list.tag !== 0x30) throw new Error(malformed)
  const names: AlternativeName[] = []
  for (let rest = list.content; rest.length > 0; ) {
    const element = elementOf(rest, 'x509: invalid subject alternative name')
    rest = element.rest
    const kind = kinds.find((one) => tags[one] === element.tag)
    if (kind === undefined) continue
    checks[kind](element.content)
    names.push({ kind, content: element.content })
  }
  return names
}

/** The value of the extension. */
export const writeAlternativeNames = (names: readonly AlternativeName[]): Buffer => {
  const short = (content: Buffer): Buffer =>
    content.subarray(0, mapped.length).equals(mapped) ? content.subarray(mapped.length) : content
  const ofKind = (kind: NameKind): Buffer[] =>
    names
      .filter((name) => name.kind === kind)
      .map(({ content }) => der.tlv(tags[kind], kind === 'ip' ? short(content) : content))
  return der.sequence(...kinds.flatMap(ofKind))
}
