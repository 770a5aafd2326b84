/**
 * The forms that names, label keys and label values must have. Each function yields upstream's messages, none when all
 * is well (apimachinery, pkg/util/validation and pkg/api/validate/content).
 */

const maxCharacters = (length: number): string => `must be no more than ${length} characters`
const maxBytes = (length: number): string => `must be no more than ${length} bytes`

/** What upstream says of a value that a pattern refuses. */
export const regexMessage = (what: string, format: string, ...examples: string[]): string =>
  examples.length === 0
    ? `${what} (regex used for validation is '${format}')`
    : `${what} (e.g. ${examples.map((e) => `'${e}', `).join(' or ')}regex used for validation is '${format}')`

interface Rule {
  format: string
  pattern: RegExp
  message: string
}
const rule = (format: string, what: string, ...examples: string[]): Rule => ({
  format,
  pattern: new RegExp(`^${format}$`),
  message: regexMessage(what, format, ...examples),
})

const labelFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const dns1123Label = rule(
  labelFormat,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  'my-name',
  '123-abc',
)
const dns1123Subdomain = rule(
  `${labelFormat}(\\.${labelFormat})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  'example.com',
)
const underscoreFormat = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const underscoreSubdomain = rule(
  `${underscoreFormat}(\\.${underscoreFormat})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  'example.com',
)
const dns1035Label = rule(
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  'my-name',
  'abc-123',
)
const labelKeyFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelKeyMessage =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const labelKey = rule(labelKeyFormat, labelKeyMessage, 'MyName', 'my.name', '123-abc')
const labelValue = rule(
  `(${labelKeyFormat})?`,
  `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
  'MyValue',
  'my_value',
  '12345',
)

const byteLength = (text: string): number => Buffer.byteLength(text)

/** A text that fits the pattern is ASCII: its length is its number of bytes. */
const fits = (value: string, { pattern }: Rule, lengthMax: number): boolean =>
  value.length <= lengthMax && pattern.test(value)

export const isDns1123Label = (value: string): string[] => {
  if (fits(value, dns1123Label, 63)) return []
  const messages: string[] = []
  if (byteLength(value) > 63) messages.push(maxCharacters(63))
  if (!dns1123Label.pattern.test(value))
    messages.push(
      dns1123Subdomain.pattern.test(value) ? 'must not contain dots' : dns1123Label.message,
    )
  return messages
}

const isSubdomain = (value: string, form: Rule): string[] => {
  if (fits(value, form, 253)) return []
  const messages: string[] = []
  if (byteLength(value) > 253) messages.push(maxCharacters(253))
  if (!form.pattern.test(value)) messages.push(form.message)
  return messages
}

export const isDns1123Subdomain = (value: string): string[] => isSubdomain(value, dns1123Subdomain)
export const isDns1123SubdomainWithUnderscore = (value: string): string[] =>
  isSubdomain(value, underscoreSubdomain)

export const isDns1035Label = (value: string): string[] => {
  const messages: string[] = []
  if (byteLength(value) > 63) messages.push(maxCharacters(63))
  if (!dns1035Label.pattern.test(value)) messages.push(dns1035Label.message)
  return messages
}

/** The name of a kind, in one message: its letters may be of any case (apiextensions). */
export const isKindName = (value: string): string[] => {
  const messages = isDns1035Label(value.toLowerCase())
  return messages.length === 0
    ? []
    : [`may have mixed case, but should otherwise match: ${messages.join(',')}`]
}

const prefixMessages = (prefix: string): string[] => {
  if (prefix === '') return ['prefix part must be non-empty']
  const messages: string[] = []
  if (byteLength(prefix) > 253) messages.push(`prefix part ${maxBytes(253)}`)
  if (!dns1123Subdomain.pattern.test(prefix))
    messages.push(`prefix part ${dns1123Subdomain.message}`)
  return messages
}

/** A label key: a name, or a DNS subdomain, a slash and a name. */
export const isQualifiedName = (value: string): string[] => {
  if (fits(value, labelKey, 63)) return []
  const slash = value.indexOf('/')
  if (
    fits(value.slice(slash + 1), labelKey, 63) &&
    fits(value.slice(0, slash), dns1123Subdomain, 253)
  )
    return []
  const parts = value.split('/')
  if (parts.length > 2)
    return [
      `a valid label key ${labelKey.message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  const messages = parts.length === 2 ? prefixMessages(parts[0]!) : []
  const name = parts[parts.length - 1]!
  if (name === '') messages.push('name part must be non-empty')
  else if (byteLength(name) > 63) messages.push(`name part ${maxBytes(63)}`)
  if (!labelKey.pattern.test(name)) messages.push(`name part ${labelKey.message}`)
  return messages
}

export const isLabelValue = (value: string): string[] => {
  if (fits(value, labelValue, 63)) return []
  const messages: string[] = []
  if (byteLength(value) > 63) messages.push(maxBytes(63))
  if (!labelValue.pattern.test(value)) messages.push(labelValue.message)
  return messages
}

/** What every name must be, whatever its kind allows: one segment of a path. */
export const isPathSegmentName = (value: string): string[] => {
  if (value === '.' || value === '..') return [`may not be '${value}'`]
  return isPathSegmentPrefix(value)
}

const isPathSegmentPrefix = (value: string): string[] =>
  value.includes('/') || value.includes('%')
    ? ['/', '%'].filter((c) => value.includes(c)).map((c) => `may not contain '${c}'`)
    : []

const withoutTrailingDash = (name: string): string =>
  // A prefix may end in a dash, since the suffix follows: upstream checks it with an `a` in its place.
  name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name

/** Checks of metadata.name by kind; `prefix` is true for a generateName. */
export type NameRule = (name: string, prefix: boolean) => string[]

export const dnsSubdomainName: NameRule = (name, prefix) =>
  isDns1123Subdomain(prefix ? withoutTrailingDash(name) : name)
export const dnsLabelName: NameRule = (name, prefix) =>
  isDns1123Label(prefix ? withoutTrailingDash(name) : name)
export const dns1035LabelName: NameRule = (name, prefix) =>
  isDns1035Label(prefix ? withoutTrailingDash(name) : name)
export const pathSegmentName: NameRule = (name, prefix) =>
  prefix ? isPathSegmentPrefix(name) : isPathSegmentName(name)

/**
 * For kinds whose names declarative validation checks (k8s-long-name): it has its own text for names that are too long,
 * and leaves generateName to the generic check of every object.
 */
export const longName: NameRule = (name, prefix) =>
  prefix
    ? []
    : isDns1123Subdomain(name).map((message) =>
        message === maxCharacters(253) ? maxBytes(253) : message,
      )
