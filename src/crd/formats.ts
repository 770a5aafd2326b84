/**
 * String and number formats that upstream checks; any other format is a remark.
 * Source of the list: apiextensions' supported formats and kube-openapi's strfmt.
 */
import { isIPv4, isIPv6 } from 'node:net'

const daysIn = (year: number, month: number): number =>
  [31, (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28, 31, 30, 31, 30][
    month - 1
  ] ?? (month === 7 || month === 8 || month === 10 || month === 12 ? 31 : 30)

const isDate = (text: string): boolean => {
  const m = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (m === null) return false
  const [year, month, day] = [Number(m[1]), Number(m[2]), Number(m[3])]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

const isDateTime = (text: string): boolean => {
  const m =
    /^(\d{4}-\d\d-\d\d)t(\d\d):(\d\d):(\d\d)(\.\d+)?(z|[+-]\d\d:\d\d)$/i.exec(text) ?? undefined
  return (
    m !== undefined && isDate(m[1]!) && Number(m[2]) < 24 && Number(m[3]) < 60 && Number(m[4]) <= 60
  )
}

const isCidr = (text: string): boolean => {
  const [address, bits, more] = text.split('/')
  if (more !== undefined || bits === undefined || !/^\d{1,3}$/.test(bits)) return false
  return (isIPv4(address!) && Number(bits) <= 32) || (isIPv6(address!) && Number(bits) <= 128)
}

const goDuration =
  /^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*$/
const wordDuration =
  /^(\d+\s*(ns|us|µs|ms|s|sec|secs|seconds?|m|min|mins|minutes?|h|hr|hours?|d|days?|w|wks?|weeks?))+$/
const isUrl = (text: string): boolean => {
  try {
    new URL(text)
    return true
  } catch {
    return text.startsWith('/')
  }
}
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
  const digits = text.replace(/[- ]/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === 'X' ? 10 : Number(digits[i]))
  return sum % 11 === 0
}
const isIsbn13 = (text: string): boolean => {
  const digits = text.replace(/[- ]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 13; i++) sum += Number(digits[i]) * (i % 2 === 0 ? 1 : 3)
  return sum % 10 === 0
}

const hostnamePart = /^[a-z0-9\u00a0-\uffff]([a-z0-9\u00a0-\uffff-]{0,61}[a-z0-9\u00a0-\uffff])?$/i
const isHostname = (text: string): boolean =>
  text.length <= 255 && text !== '' && text.split('.').every((part) => hostnamePart.test(part))

const stringFormats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  'date-time': isDateTime,
  datetime: isDateTime,
  duration: (text) => goDuration.test(text) || text === '0' || wordDuration.test(text),
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) || (text.includes(':') && isIPv6(text.split('%')[0]!)),
  cidr: isCidr,
  mac: (text) => /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$|^([0-9a-f]{4}\.){2}[0-9a-f]{4}$/i.test(text),
  uuid: (text) => plainUuid.test(text),
  uuid3: (text) => uuid('3', '[0-9a-f]').test(text),
  uuid4: (text) => uuid('4', '[89ab]').test(text),
  uuid5: (text) => uuid('5', '[89ab]').test(text),
  byte: (text) => /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
  email: (text) => /^[^\s@<>]+@[^\s@<>]+$/.test(text),
  hostname: isHostname,
  uri: isUrl,
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  creditcard: (text) => {
    const digits = text.replace(/[- ]/g, '')
    return /^\d{13,19}$/.test(digits) && luhn(digits)
  },
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  rgbcolor: (text) => /^rgb\(\s*\d{1,3}%?\s*,\s*\d{1,3}%?\s*,\s*\d{1,3}%?\s*\)$/i.test(text),
  password: () => true,
  'k8s-short-name': (text) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text),
  'k8s-long-name': (text) =>
    text.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
}
const numberFormats = new Set(['int32', 'int64', 'float', 'double', 'float32', 'float64'])

export const isKnownFormat = (format: string): boolean =>
  Object.hasOwn(stringFormats, format) || numberFormats.has(format)

/** True also for formats that nobody knows: they are not checked. */
export const matchesFormat = (text: string, format: string): boolean =>
  !Object.hasOwn(stringFormats, format) || stringFormats[format]!(text)
