/** The `continue` parameter: base64url of a JSON with revision and key, as upstream's (apiserver, storage/continue.go). */
import { goKindOf } from '#api/decoder-texts.js'
import { badRequest } from '#api/errors.js'
import { parseInt64 } from '#json/int64.js'
import { JsonSyntaxError, parseWithTrace } from '#json/json.js'
import { isJsonObject, isNumber } from '#json/object.js'
import type { ParsedJson, WrittenEntry } from '#json/traced.js'

interface ContinueToken {
  /** -1: the listed revision was compacted, go on with the newest state. */
  readonly revision: number
  /** First key of the page. */
  readonly startKey: string
}

const version = 'meta.k8s.io/v1'

const invalidToken = (why: string) =>
  badRequest(`invalid continue token: continue key is not valid: ${why}`)

/** Go's base64 decoder skips line breaks, and names the first byte that it cannot read. */
const decodeBase64 = (given: string): string => {
  const text = given.replace(/[\r\n]/g, '')
  const bad = /[^A-Za-z0-9_\r\n-]/.exec(given)
  if (bad !== null) throw invalidToken(`illegal base64 data at input byte ${bad.index}`)
  // A single last character makes no byte: the decoder complains about that one.
  if (text.length % 4 === 1)
    throw invalidToken(`illegal base64 data at input byte ${given.length - 1}`)
  return Buffer.from(text, 'base64url').toString('latin1')
}

const mismatch = (what: string, where: string) =>
  invalidToken(`json: cannot unmarshal ${what} into Go ${where}`)

/** encoding/json takes the keys in any case, and leaves a field as it is for null. */
const readFields = ({ value, trace }: ParsedJson): { v: string; rv: number; start: string } => {
  const fields = { v: '', rv: 0, start: '' }
  if (value === null) return fields
  if (!isJsonObject(value)) throw mismatch(goKindOf(value), 'value of type storage.continueToken')
  const entries: readonly WrittenEntry[] = trace?.entries.get(value) ?? Object.entries(value)
  const literals = trace?.literals.get(value)
  for (const [key, given, literal = literals?.get(key) ?? String(given)] of entries) {
    const name = key.toLowerCase()
    if (given === null || !Object.hasOwn(fields, name)) continue
    const at = (type: string): string => `struct field continueToken.${name} of type ${type}`
    if (name === 'rv') {
      const revision = isNumber(given) ? parseInt64(literal) : undefined
      if (revision === undefined)
        throw mismatch(isNumber(given) ? `number ${literal}` : goKindOf(given), at('int64'))
      fields.rv = Number(revision)
    } else {
      if (typeof given !== 'string') throw mismatch(goKindOf(given), at('string'))
      fields[name as 'v' | 'start'] = given
    }
  }
  return fields
}

const parseBody = (text: string): ParsedJson => {
  const first = text[0] ?? ''
  // Go's decoder reads bytes: one that begins no JSON is shown as the character of that number.
  if (first >= '\x80') {
    const shown = /[\x80-\xa0\xad]/.test(first)
      ? `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}`
      : first
    throw invalidToken(`invalid character '${shown}' looking for beginning of value`)
  }
  try {
    return parseWithTrace(text)
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw invalidToken(error.message)
    throw error
  }
}

const isClean = (key: string): boolean =>
  key
    .replace(/\0$/, '')
    .split('/')
    .every((part, i) => (part !== '' || i === 0) && part !== '.' && part !== '..')

/** `prefix` ends in a slash. Throws 400. */
export const decodeContinue = (text: string, prefix: string): ContinueToken => {
  const { v, rv, start } = readFields(parseBody(decodeBase64(text)))
  if (v !== version) throw invalidToken(`server does not recognize this encoded version ${v}`)
  if (rv === 0) throw invalidToken(`incorrect encoded start resourceVersion (version ${version})`)
  if (start === '') throw invalidToken(`encoded start key empty (version ${version})`)
  const key = Buffer.from(start, 'latin1').toString('utf8')
  if (!isClean(key)) throw invalidToken(key)
  return { revision: rv, startKey: prefix + key.replace(/^\//, '') }
}

export const encodeContinue = ({ revision, startKey }: ContinueToken, prefix: string): string =>
  Buffer.from(
    JSON.stringify({ v: version, rv: revision, start: startKey.slice(prefix.length) }),
  ).toString('base64url')
