/** IP addresses as Go's net/netip reads them, and what it says of texts that are none. */
import { goQuote } from './quote.js'

type Family = 4 | 6
export interface IpAddress {
  readonly family: Family
  readonly bits: bigint
}
interface ParsedAddress {
  readonly address: IpAddress
  readonly zone: string
}

const fail = (text: string, why: string, at?: string): never => {
  const where = at === undefined ? '' : ` (at ${goQuote(at)})`
  throw new Error(`ParseAddr(${goQuote(text)}): ${why}${where}`)
}

/** Reads no further than to what is wrong: an expression may hand over megabytes. */
const parse4 = (text: string, whole = text): IpAddress => {
  const fields: number[] = []
  let value = 0
  let digits = 0
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    if (character === '.') {
      if (digits === 0 || i === text.length - 1)
        fail(whole, 'IPv4 field must have at least one digit', text.slice(i))
      if (fields.length === 3) fail(whole, 'IPv4 address too long')
      fields.push(value)
      value = digits = 0
      continue
    }
    if (character < '0' || character > '9') fail(whole, 'unexpected character', text.slice(i))
    if (digits === 1 && value === 0) fail(whole, 'IPv4 field has octet with leading zero')
    value = value * 10 + Number(character)
    digits++
    if (value > 255) fail(whole, 'IPv4 field has value >255')
  }
  if (fields.length < 3) fail(whole, 'IPv4 address too short')
  const bits = [...fields, value].reduce((sum, field) => sum * 256 + field, 0)
  return { family: 4, bits: BigInt(bits) }
}

/** What follows a group: the colon, and the one `::`, which stands before the next group. */
const afterColon = (rest: string, whole: string, hadEllipsis: boolean) => {
  if (rest[0] !== ':') fail(whole, 'unexpected character, want colon', rest)
  if (rest.length === 1) fail(whole, 'colon must be followed by more characters', rest)
  const isEllipsis = rest[1] === ':'
  if (isEllipsis && hadEllipsis) fail(whole, 'multiple :: in address', rest.slice(1))
  return { isEllipsis, rest: rest.slice(isEllipsis ? 2 : 1) }
}

const embedded4 = (rest: string, whole: string, at: number, hasEllipsis: boolean): bigint[] => {
  if (!hasEllipsis && at !== 6)
    fail(whole, 'embedded IPv4 address must replace the final 2 fields of the address', rest)
  if (at > 6)
    fail(whole, 'too many hex fields to fit an embedded IPv4 at the end of the address', rest)
  const { bits } = parse4(rest, whole)
  return [bits >> 16n, bits & 0xffffn]
}

const groupOf = (rest: string, whole: string): string => {
  const digits = /^[0-9a-fA-F]{0,5}/.exec(rest)![0]
  if (digits.length > 4) fail(whole, 'each group must have 4 or less digits', rest)
  if (digits === '') fail(whole, 'each colon-separated field must have at least one digit', rest)
  return digits
}

const parse6 = (text: string, whole: string): IpAddress => {
  const groups: bigint[] = []
  let ellipsis = text.startsWith('::') ? 0 : -1
  let rest = ellipsis === 0 ? text.slice(2) : text
  let isOver = ellipsis === 0 && rest === ''
  while (!isOver && groups.length < 8) {
    const digits = groupOf(rest, whole)
    if (rest[digits.length] === '.') {
      groups.push(...embedded4(rest, whole, groups.length, ellipsis >= 0))
      rest = ''
      break
    }
    groups.push(BigInt(`0x${digits}`))
    rest = rest.slice(digits.length)
    if (rest === '') break
    const next = afterColon(rest, whole, ellipsis >= 0)
    rest = next.rest
    if (next.isEllipsis) ellipsis = groups.length
    isOver = rest === ''
  }
  if (rest !== '') fail(whole, 'trailing garbage after address', rest)
  const missing = 8 - groups.length
  if (missing > 0 && ellipsis < 0) fail(whole, 'address string too short')
  if (missing === 0 && ellipsis >= 0)
    fail(whole, 'the :: must expand to at least one field of zeros')
  groups.splice(Math.max(ellipsis, 0), 0, ...Array<bigint>(missing).fill(0n))
  return { family: 6, bits: groups.reduce((bits, group) => (bits << 16n) + group, 0n) }
}

/** An address and its zone; throws an error with Go's words where there is none. */
export const parseAddress = (text: string): ParsedAddress => {
  const mark = /[.:%]/.exec(text)?.[0]
  if (mark === '.') return { address: parse4(text), zone: '' }
  if (mark === '%') fail(text, 'missing IPv6 address')
  if (mark === undefined) fail(text, 'unable to parse IP')
  const percent = text.indexOf('%')
  if (percent < 0) return { address: parse6(text, text), zone: '' }
  const zone = text.slice(percent + 1)
  if (zone === '') fail(text, 'zone must be a non-empty string')
  return { address: parse6(text.slice(0, percent), text), zone }
}
