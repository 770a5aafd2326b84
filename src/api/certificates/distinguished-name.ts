/**
 * The names of subjects in requests for certificates, read as Go's crypto/x509 does and written as it would: OpenSSL, which
 * reads the certificate later, knows more kinds of texts, so that what nobody looked at must not get there.
 */
import {
  der,
  type Element,
  readElement,
  readElements,
  structureError,
  syntaxError,
} from '#net/der.js'

const { sequence, set, tlv } = der

interface Attribute {
  /** The content of its object identifier, in hex. */
  readonly type: string
  readonly value: string
}

const tags = { integer: 0x02, oid: 0x06, sequence: 0x30, set: 0x31 } as const

/** In the order in which Go writes them: C, ST, L, STREET, postalCode, O, OU, CN, serialNumber. All others are lost. */
const organization = '55040a'
const commonName = '550403'
const serialNumber = '550405'
const several = ['550406', '550408', '550407', '550409', '550411', organization, '55040b']
const single = [commonName, serialNumber]

const invalidBmp = 'invalid BMPString'
const isNoCharacter = (point: number): boolean =>
  point >= 0xfffe || (point >= 0xfdd0 && point <= 0xfdef) || (point >= 0xd800 && point <= 0xdfff)

const readBmp = (content: Buffer): string => {
  if (content.length % 2 !== 0) throw new Error(invalidBmp)
  const points = Array.from({ length: content.length / 2 }, (_, i) => content.readUInt16BE(2 * i))
  if (points.at(-1) === 0) points.pop()
  if (points.some(isNoCharacter)) throw new Error(invalidBmp)
  return points.map((point) => String.fromCharCode(point)).join('')
}

const readUtf8 = (content: Buffer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    throw new Error('asn1: invalid UTF-8 string')
  }
}

const ofCharacters =
  (name: string, characters: RegExp) =>
  (content: Buffer): string => {
    const text = content.toString('latin1')
    if (!characters.test(text)) throw syntaxError(`${name} contains invalid character`)
    return text
  }

/** By their tags. Go takes no other value for a text. */
const texts: Readonly<Record<number, (content: Buffer) => string>> = {
  12: readUtf8,
  18: ofCharacters('NumericString', /^[0-9 ]*$/),
  19: ofCharacters('PrintableString', /^[A-Za-z0-9'()+,\-./ :=?*&]*$/),
  20: (content) => content.toString('latin1'),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  22: ofCharacters('IA5String', /^[\x00-\x7f]*$/),
  30: readBmp,
}

/** Throws for what is no integer of 64 bits in its shortest form. */
export const checkInteger = (content: Buffer): void => {
  const [first, second] = content
  if (first === undefined) throw structureError('empty integer')
  const isPadded =
    second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
  if (isPadded) throw structureError('integer not minimally-encoded')
  if (content.length > 8) throw structureError('integer too large')
}

const attributeOf = ({ tag, content }: Element): Attribute | undefined => {
  if (tag !== tags.sequence) throw structureError('sequence tag mismatch')
  const type = readElement(content)
  if (type.tag !== tags.oid) throw structureError("tags don't match")
  const value = readElement(type.rest)
  if (value.tag === tags.integer) checkInteger(value.content)
  const read = texts[value.tag]
  return read && { type: type.content.toString('hex'), value: read(value.content) }
}

/** `content`: of a SEQUENCE OF SET OF SEQUENCE { OID, value }. */
const attributesIn = (content: Buffer): Attribute[] =>
  readElements(content).flatMap(({ tag, content }) => {
    if (tag !== tags.set) throw structureError('sequence tag mismatch')
    return readElements(content).flatMap((element) => attributeOf(element) ?? [])
  })

/** As it is printed if that is enough for it. */
const written = (value: string): Buffer =>
  tlv(/^[A-Za-z0-9'()+,\-./ :=?]*$/.test(value) ? 0x13 : 0x0c, Buffer.from(value))

const writtenSet = (type: string, values: readonly string[]): Buffer => {
  const id = tlv(tags.oid, Buffer.from(type, 'hex'))
  return set(...values.map((value) => sequence(id, written(value))).sort(Buffer.compare))
}

export interface DistinguishedName {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** DER, of what was read. */
  readonly written: Buffer
}

/** Throws, in Go's words, for what is none. */
export const readName = (content: Buffer): DistinguishedName => {
  const attributes = attributesIn(content)
  const valuesOf = (type: string): string[] =>
    attributes.filter((one) => one.type === type).map(({ value }) => value)
  // Of several the last counts.
  const lastOf = (type: string): string => valuesOf(type).at(-1) ?? ''
  const all = [
    ...several.map((type): [string, string[]] => [type, valuesOf(type)]),
    ...single.map((type): [string, string[]] => [type, [lastOf(type)].filter((v) => v !== '')]),
  ]
  return {
    commonName: lastOf(commonName),
    organizations: valuesOf(organization),
    written: sequence(
      ...all
        .filter(([, values]) => values.length > 0)
        .map(([type, values]) => writtenSet(type, values)),
    ),
  }
}
