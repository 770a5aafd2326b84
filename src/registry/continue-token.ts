/** The `continue` parameter: base64url of a JSON with revision and key, as upstream's (apiserver, storage/continue.go). */
import { badRequest } from '#api/errors.js'
import { JsonSyntaxError, parse } from '#api/json.js'
import { isJsonObject } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'

export interface ContinueToken {
  /** -1 goes on at the newest state, after the one listed was compacted. */
  readonly revision: number
  /** First key of the page. */
  readonly startKey: string
}

const version = 'meta.k8s.io/v1'

const invalidToken = (why: string) =>
  badRequest(`invalid continue token: continue key is not valid: ${why}`)

/** Go's base64 decoder names the first byte that it cannot read. */
const decodeBase64 = (text: string): string => {
  const bad = /[^A-Za-z0-9_-]/.exec(text)
  if (bad !== null) throw invalidToken(`illegal base64 data at input byte ${bad.index}`)
  if (text.length % 4 === 1)
    throw invalidToken(`illegal base64 data at input byte ${text.length - 1}`)
  return Buffer.from(text, 'base64url').toString('latin1')
}

const parseBody = (text: string): JsonValue => {
  const first = text[0] ?? ''
  // Go's decoder reads bytes: one that begins no JSON is shown as the character of that number.
  if (first >= '\x80') {
    const shown = /[\x80-\xa0\xad]/.test(first)
      ? `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}`
      : first
    throw invalidToken(`invalid character '${shown}' looking for beginning of value`)
  }
  try {
    return parse(text)
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
  const value = parseBody(decodeBase64(text))
  const { v = '', rv = 0, start = '' } = isJsonObject(value) ? value : {}
  if (v !== version) throw invalidToken(`server does not recognize this encoded version ${v}`)
  if (rv === 0) throw invalidToken(`incorrect encoded start resourceVersion (version ${version})`)
  if (start === '' || typeof start !== 'string')
    throw invalidToken(`encoded start key empty (version ${version})`)
  const key = Buffer.from(start, 'latin1').toString('utf8')
  if (!isClean(key)) throw invalidToken(key)
  return { revision: Number(rv), startKey: prefix + key.replace(/^\//, '') }
}

export const encodeContinue = ({ revision, startKey }: ContinueToken, prefix: string): string =>
  Buffer.from(
    JSON.stringify({ v: version, rv: revision, start: startKey.slice(prefix.length) }),
  ).toString('base64url')
