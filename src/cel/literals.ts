/** What the literals of an expression mean (cel-go, parser/unescape.go). */
import { Uint } from './values.js'

/** A literal that stands for nothing; the message is upstream's. */
export class LiteralError extends Error {}

const simpleEscapes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
}

const codePointOf = (sequence: string): number => {
  const kind = sequence[1]!
  if ('xXuU'.includes(kind)) return Number.parseInt(sequence.slice(2), 16)
  if ('0123'.includes(kind)) return Number.parseInt(sequence.slice(1), 8)
  return simpleEscapes[kind] ?? kind.codePointAt(0)!
}

const pieces = /\\(?:[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)|[^\\]+/gs

const isScalar = (point: number): boolean => point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)

/** The text between the quotes, and whether it is raw. */
const contentOf = (literal: string): { content: string; isRaw: boolean } => {
  const normal = literal.replace(/\r\n?/g, '\n')
  const isRaw = /^r/i.test(normal)
  const quoted = isRaw ? normal.slice(1) : normal
  const isLong = quoted.length >= 6 && (quoted.startsWith('"""') || quoted.startsWith("'''"))
  const width = isLong ? 3 : 1
  return { content: quoted.slice(width, quoted.length - width), isRaw }
}

export const stringOf = (literal: string): string => {
  const { content, isRaw } = contentOf(literal)
  if (isRaw || !content.includes('\\')) return content
  return content.replace(pieces, (piece) => {
    if (!piece.startsWith('\\')) return piece
    const point = codePointOf(piece)
    if (!isScalar(point)) throw new LiteralError('invalid unicode code point')
    return String.fromCodePoint(point)
  })
}

/** A bytes literal with its `b`: escapes are bytes, the rest is UTF-8. */
export const bytesOf = (literal: string): Uint8Array => {
  const { content, isRaw } = contentOf(literal.slice(1))
  if (isRaw) return Buffer.from(content)
  const parts = [...content.matchAll(pieces)].map(([piece]) => {
    if (!piece.startsWith('\\')) return Buffer.from(piece)
    if ('uU'.includes(piece[1]!)) throw new LiteralError('unable to unescape string')
    return Buffer.from([codePointOf(piece)])
  })
  return Buffer.concat(parts)
}

export const intOf = (text: string, sign: string): bigint => {
  const value = BigInt(text) * (sign === '-' ? -1n : 1n)
  if (BigInt.asIntN(64, value) !== value) throw new LiteralError('invalid int literal')
  return value
}

export const uintOf = (text: string): Uint => {
  const value = BigInt(text.slice(0, -1))
  if (BigInt.asUintN(64, value) !== value) throw new LiteralError('invalid uint literal')
  return new Uint(value)
}

export const doubleOf = (text: string): number => {
  const value = Number(text)
  if (!Number.isFinite(value)) throw new LiteralError('invalid double literal')
  return value
}
