/** Forms of values in specs, with upstream's messages (apimachinery, pkg/util/validation). */
import { type FieldError, invalid, invalidEach, required, tooLong } from '#api/field-error.js'
import {
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
  pathSegmentName,
  regexMessage,
} from '#api/names.js'

const at =
  (messagesOf: (value: string) => string[]) =>
  (path: string, value: string): FieldError[] =>
    invalidEach(path, value, messagesOf(value))

export const validDnsLabel = at(isDns1123Label)
export const validDnsSubdomain = at(isDns1123Subdomain)
export const validDns1035Label = at(isDns1035Label)
export const validQualifiedName = at(isQualifiedName)
export const validLabelValue = at(isLabelValue)
/** Of a taint or a toleration: all that is wrong is one error. */
export const validTaintValue = (path: string, value: string): FieldError[] => {
  const messages = isLabelValue(value)
  return messages.length === 0 ? [] : [invalid(path, value, messages.join(';'))]
}

/** Go counts bytes. */
export const validLength = (path: string, value: string, bytesMax: number): FieldError[] =>
  Buffer.byteLength(value) > bytesMax ? [tooLong(path, bytesMax)] : []

/** What is to be one segment of a path. */
export const validPathSegment = (path: string, value: string): FieldError[] =>
  value === '' ? [required(path)] : invalidEach(path, value, pathSegmentName(value, false))

/** A wildcard among others makes them superfluous. */
export const aloneIfWildcard = (path: string, values: string[], what: string): FieldError[] =>
  values.length > 1 && values.includes('*')
    ? [invalid(path, values, `if '*' is present, must not specify other ${what}`)]
    : []

/** IsFullyQualifiedDomainName: a subdomain of at least two segments, a dot at its end allowed. */
export const validFullyQualifiedName = (path: string, name: string): FieldError[] => {
  if (name === '') return [required(path)]
  const plain = name.endsWith('.') ? name.slice(0, -1) : name
  const malformed = isDns1123Subdomain(plain)
  if (malformed.length > 0) return [invalid(path, plain, malformed.join(','))]
  if (plain.split('.').length < 2)
    return [invalid(path, plain, 'should be a domain with at least two segments separated by dots')]
  return plain.split('.').flatMap((label) => validDnsLabel(path, label))
}

const pathFormat = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`
const pathPattern = new RegExp(`^${pathFormat}$`)
const pathMessage = regexMessage('Invalid path', pathFormat)

/** IsDomainPrefixedPath of apimachinery. */
export const validDomainPrefixedPath = (path: string, value: string): FieldError[] => {
  if (value === '') return [required(path)]
  const slash = value.indexOf('/')
  const [domain, rest] = [value.slice(0, Math.max(slash, 0)), value.slice(slash + 1)]
  if (domain === '' || rest === '')
    return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  return [
    ...validDnsSubdomain(path, domain),
    ...(pathPattern.test(rest) ? [] : [invalid(path, rest, pathMessage)]),
  ]
}

export const inRange = (low: number, high: number): string =>
  `must be between ${low} and ${high}, inclusive`
export const int32Max = 2 ** 31 - 1

/** Users and groups have numbers of 31 bits. */
export const validId = (path: string, id: number | bigint | undefined): FieldError[] =>
  id === undefined || (id >= 0 && id <= int32Max) ? [] : [invalid(path, id, inRange(0, int32Max))]

const directoryMessages = (value: string): string[] => {
  if (value === '.') return ["must not be '.'"]
  if (value === '..') return ["must not be '..'"]
  return value.startsWith('..') ? ["must not start with '..'"] : []
}

const configKeyFormat = '[-._a-zA-Z0-9]+'
const configKeyMessage = regexMessage(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  configKeyFormat,
  'key.name',
  'KEY_NAME',
  'key-name',
)
const configKeyMessages = (key: string): string[] => {
  const messages: string[] = []
  if (Buffer.byteLength(key) > 253) messages.push('must be no more than 253 characters')
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) messages.push(configKeyMessage)
  return [...messages, ...directoryMessages(key)]
}
export const validConfigKey = at(configKeyMessages)

/** Since v1.34 anything printable but `=`. */
export const isEnvName = (name: string): boolean => /^[\x20-\x3c\x3e-\x7e]*$/.test(name)
export const validEnvName = at((name) =>
  isEnvName(name)
    ? []
    : [
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
      ],
)

const headerFormat = '[-A-Za-z0-9]+'
const headerMessage = regexMessage(
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  headerFormat,
  'X-Header-Name',
)
export const validHeaderName = at((name) => (/^[-A-Za-z0-9]+$/.test(name) ? [] : [headerMessage]))

export const validNoBacksteps = (path: string, target: string): FieldError[] =>
  target.split('/').includes('..') ? [invalid(path, target, "must not contain '..'")] : []

export const validRelativePath = (path: string, target: string): FieldError[] => [
  ...(target.startsWith('/') ? [invalid(path, target, 'must be a relative path')] : []),
  ...validNoBacksteps(path, target),
]

/** A relative path that does not begin with two dots. */
export const validLocalPath = (path: string, target: string): FieldError[] => [
  ...validRelativePath(path, target),
  ...(target.startsWith('..') && !target.startsWith('../')
    ? [invalid(path, target, "must not start with '..'")]
    : []),
]
