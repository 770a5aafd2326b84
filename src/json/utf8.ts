/** Bytes of clients as text, where they may be no UTF-8. */
import { isUtf8 } from 'node:buffer'

interface Utf8Fault {
  readonly at: number
  /** What is wrong, in the words of upstream's YAML reader. */
  readonly text: string
}

const widthOf = (lead: number): number => {
  if (lead < 0x80) return 1
  if ((lead & 0xe0) === 0xc0) return 2
  if ((lead & 0xf0) === 0xe0) return 3
  return (lead & 0xf8) === 0xf0 ? 4 : 0
}

const leastOfWidth = [0, 0, 0x80, 0x800, 0x10000]

/** The width in bytes of the character that begins here, or why there is none. */
const characterAt = (bytes: Uint8Array, at: number): number | string => {
  const lead = bytes[at]!
  const width = widthOf(lead)
  if (width === 0) return 'invalid leading UTF-8 octet'
  if (width === 1) return 1
  if (at + width > bytes.length) return 'incomplete UTF-8 octet sequence'
  let point = lead & (0xff >> (width + 1))
  for (let i = 1; i < width; i++) {
    const octet = bytes[at + i]!
    if ((octet & 0xc0) !== 0x80) return 'invalid trailing UTF-8 octet'
    point = (point << 6) | (octet & 0x3f)
  }
  if (point < leastOfWidth[width]!) return 'invalid length of a UTF-8 sequence'
  return (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff
    ? 'invalid Unicode character'
    : width
}

/** The first byte that begins no character. */
export const utf8FaultOf = (bytes: Uint8Array, start = 0): Utf8Fault | undefined => {
  if (start === 0 && isUtf8(bytes)) return undefined
  for (let at = start; at < bytes.length; ) {
    const found = characterAt(bytes, at)
    if (typeof found === 'string') return { at, text: found }
    at += found
  }
  return undefined
}

/** As Go reads a string: each byte that is of no character is one U+FFFD, where WHATWG's decoders put one for several. */
export const textOf = (bytes: Buffer): string => {
  const text = bytes.toString('utf8')
  if (!text.includes('\ufffd') || isUtf8(bytes)) return text
  let out = ''
  let start = 0
  for (;;) {
    const fault = utf8FaultOf(bytes, start)
    if (fault === undefined) return out + bytes.toString('utf8', start)
    out += `${bytes.toString('utf8', start, fault.at)}\ufffd`
    start = fault.at + 1
  }
}
