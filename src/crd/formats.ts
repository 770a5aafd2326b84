/**
 * String and number formats that upstream checks; any other format is a remark.
 * Source of the list: apiextensions' supported formats and kube-openapi's strfmt.
 */
import { daysIn } from '#api/clock.js'
import { parseRequestUri } from '#go/url.js'
import { getOwn } from '#json/object.js'
import { isSloppyIp } from '#validation/network.js'
import { parseFormatDuration } from './duration-format.js'
import { isEmailAddress } from './email-address.js'
import { mapSchemas, type StructuralSchema } from './structural-schema.js'

const isDate = (text: string): boolean => {
  const m = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (m === null) return false
  const [year, month, day] = [Number(m[1]), Number(m[2]), Number(m[3])]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

/** Upstream takes any letter for the point before the fraction, and does not look at what a second T begins. */
const isDateTime = (text: string): boolean => {
  const m =
    /^(\d{4}-\d\d-\d\d)t(\d\d):(\d\d):(\d\d)([^\nt]\d+)?(z|[+-]\d\d:\d\d)(?:t|$)/i.exec(text) ??
    undefined
  return (
    m !== undefined && isDate(m[1]!) && Number(m[2]) < 24 && Number(m[3]) < 60 && Number(m[4]) < 60
  )
}

const isCidr = (text: string): boolean => {
  const [address, bits, more] = text.split('/')
  if (more !== undefined || bits === undefined || !/^\d{1,3}$/.test(bits)) return false
  if (!isSloppyIp(address!)) return false
  return Number(bits) <= (address!.includes(':') ? 128 : 32)
}

const isUrl = (text: string): boolean => typeof parseRequestUri(text) !== 'string'
const uuid = (version: string, variant: string) =>
  new RegExp(
    `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`,
    'i',
  )
const plainUuid = uuid('[0-9a-f]', '[0-9a-f]')

const luhn = (text: string): boolean => {
  let sum = 0
  for (let i = 0; i < text.length; i++) {
    let digit = Number(text[text.length - 1 - i])
    if (i % 2 === 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2
    sum += digit
  }
  return sum % 10 === 0
}
const isIsbn10 = (text: string): boolean => {
  const digits = text.replace(/[\t\n\f\r -]+/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === 'X' ? 10 : Number(digits[i]))
  return sum % 11 === 0
}
const isIsbn13 = (text: string): boolean => {
  const digits = text.replace(/[\t\n\f\r -]+/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 13; i++) sum += Number(digits[i]) * (i % 2 === 0 ? 1 : 3)
  return sum % 10 === 0
}

// One label with a hyphen after its first character at most, or labels before a top-level domain of letters.
const label = '[a-z0-9\\p{S}\\p{L}]'
const hostname = new RegExp(
  `^(${label}-?${label}{0,62}|(${label}([a-z0-9\\-\\p{S}\\p{L}]{0,61}${label})?\\.)+[a-z\\p{L}]{2,63})$`,
  'iu',
)
const isHostname = (text: string): boolean =>
  hostname.test(text) &&
  Buffer.byteLength(text) <= 255 &&
  text.split('.').every((part) => Buffer.byteLength(part) <= 63)

const cardNumber =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/
const colorPart = '(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])'
/** Go's `\s*`: fewer characters than in JavaScript. */
const gap = '[\\t\\n\\f\\r ]*'
const rgbColor = new RegExp(
  `^rgb\\(${gap}${colorPart}${gap},${gap}${colorPart}${gap},${gap}${colorPart}${gap}\\)$`,
)
const dividedMac =
  /^(?:([\da-f]{2}:)+[\da-f]{2}|([\da-f]{2}-)+[\da-f]{2}|([\da-f]{4}\.)+[\da-f]{4}|[\da-f]+)$/i
/** 6, 8 or 20 bytes; since Go 1.26 they need not be divided. */
const macDigits = new Set([12, 16, 40])
const isMac = (text: string): boolean =>
  dividedMac.test(text) && macDigits.has(text.replace(/[^\da-f]/gi, '').length)

const stringFormats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  datetime: isDateTime,
  duration: (text) => parseFormatDuration(text) !== undefined,
  ipv4: (text) => text.includes('.') && isSloppyIp(text),
  ipv6: (text) => text.includes(':') && isSloppyIp(text),
  cidr: isCidr,
  mac: isMac,
  uuid: (text) => plainUuid.test(text),
  uuid3: (text) => uuid('3', '[0-9a-f]').test(text),
  uuid4: (text) => uuid('4', '[89ab]').test(text),
  uuid5: (text) => uuid('5', '[89ab]').test(text),
  byte: (text) =>
    /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  email: isEmailAddress,
  hostname: isHostname,
  uri: isUrl,
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  creditcard: (text) => {
    const digits = text.replace(/\D+/g, '')
    return cardNumber.test(digits) && luhn(digits)
  },
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  ssn: (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  rgbcolor: (text) => rgbColor.test(text),
  password: () => true,
  k8sshortname: (text) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text),
  k8slongname: (text) =>
    text.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
}
const numberFormats: Readonly<Record<string, readonly string[]>> = {
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
}

/** Dashes in the names of formats do not count. */
const checkOf = (format: string): ((text: string) => boolean) | undefined => {
  const name = format.replaceAll('-', '')
  return getOwn(stringFormats, name)
}

/** Whether values of the type are checked for the format; a schema without a type counts as one of strings here. */
export const isKnownFormat = (format: string, type: string | undefined): boolean =>
  !type || type === 'string'
    ? checkOf(format) !== undefined
    : (getOwn(numberFormats, type)?.includes(format) ?? false)

/** True also for formats that nobody knows: they are not checked. */
export const matchesFormat = (text: string, format: string): boolean =>
  checkOf(format)?.(text) ?? true

/** Objects are not asked for formats that count for nothing; a default is, as what the format says is not looked for. */
export const withKnownFormats = (schema: StructuralSchema): StructuralSchema =>
  mapSchemas(schema, ({ format, ...rest }) =>
    format && isKnownFormat(format, rest.type) ? { format, ...rest } : rest,
  )
