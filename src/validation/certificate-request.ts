/** Reads PKCS #10 requests (RFC 2986): enough to check that one is there and whom it names. */

import { pemBlock } from '#api/pem.js'

interface Element {
  tag: number
  content: Buffer
  rest: Buffer
}

const truncated = 'asn1: syntax error: data truncated'

/** One DER element; throws an Error in the words of Go's encoding/asn1. */
const readElement = (der: Buffer): Element => {
  const [tag, first] = der
  if (tag === undefined || first === undefined) throw new Error(truncated)
  let length = first
  let start = 2
  if (first >= 0x80) {
    const bytes = first & 0x7f
    if (bytes === 0 || bytes > 4 || der.length < 2 + bytes) throw new Error(truncated)
    length = der.readUIntBE(2, bytes)
    start += bytes
  }
  if (der.length < start + length) throw new Error(truncated)
  return { tag, content: der.subarray(start, start + length), rest: der.subarray(start + length) }
}

const sequenceTag = 0x30
const readSequence = (der: Buffer): Element => {
  const element = readElement(der)
  if (element.tag !== sequenceTag) throw new Error("asn1: structure error: tags don't match")
  return element
}

const elementsOf = (der: Buffer): Element[] => {
  const elements: Element[] = []
  for (let left = der; left.length > 0; ) {
    const element = readElement(left)
    elements.push(element)
    left = element.rest
  }
  return elements
}

const organizationOid = '55040a'
const commonNameOid = '550403'

/** Values of an attribute in a Name: SEQUENCE OF SET OF SEQUENCE { OID, string }. */
const attributesOf = (name: Buffer, oid: string): string[] =>
  elementsOf(name).flatMap((set) =>
    elementsOf(set.content).flatMap((pair) => {
      const [type, value] = elementsOf(pair.content)
      return type?.content.toString('hex') === oid ? [value?.content.toString('utf8') ?? ''] : []
    }),
  )

export interface CertificateRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
}

/** `base64` is the PEM text as the API carries it. */
export const parseCertificateRequest = (
  base64: string,
): CertificateRequest | { readonly error: string } => {
  const pem = Buffer.from(base64, 'base64').toString('latin1')
  const block = pemBlock(pem, 'CERTIFICATE REQUEST')
  if (block === undefined || !/^\s/.test(block))
    return { error: 'PEM block type must be CERTIFICATE REQUEST' }
  try {
    const der = Buffer.from(block.replace(/^[A-Za-z-]+:.*$/gm, ''), 'base64')
    const info = readSequence(readSequence(der).content)
    const version = readElement(info.content)
    const name = readSequence(version.rest)
    const [commonName = ''] = attributesOf(name.content, commonNameOid)
    return { commonName, organizations: attributesOf(name.content, organizationOid) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}
