/** Fault rules, as they come from tests, and their validation. */
import { badRequest, invalid as invalidObject } from '#api/errors.js'
import {
  child,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import { getOwn } from '#json/object.js'
import { limits } from '#limits'

/** Which requests fail. A field that is missing matches everything. */
export interface FaultMatch {
  /** `get`, `list`, `watch`, `create`, … For a non-resource path the method in lower case: `post`. */
  readonly verb?: string
  /** `''` is the core group. */
  readonly apiGroup?: string
  readonly resource?: string
  /** `''` excludes subresources. */
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  /** After impersonation. */
  readonly user?: string
  /** A prefix of the header: `kubectl/`. */
  readonly userAgent?: string
}

export interface FaultStatus {
  /** 400 to 599. For 409, 429, 500, 503 and 504, kube-apiserver's reason and message are the default. */
  readonly code: number
  readonly reason?: string
  readonly message?: string
  /** In the Status and in the header Retry-After. Default for 429: 1. */
  readonly retryAfterSeconds?: number
}

/** What happens to which requests: one of `status`, `cut` and `gone`, a delay, or a delay before one of them. */
export interface FaultRule {
  readonly match?: FaultMatch
  /** The answer, instead of handling the request. */
  readonly status?: FaultStatus
  /** How long the request waits before anything else happens. */
  readonly delayMs?: number
  /**
   * Closes the connection without an answer (over HTTP/2 resets the stream), before the request is handled or when its
   * answer would begin. A watch that is cut `after` first shows `afterEvents` events.
   */
  readonly cut?: 'before' | 'after'
  /** Ends watches with a 410, so that clients have to list again. */
  readonly gone?: true
  /** Events that a watch shows before it ends. Default 0. Restricts the rule to watches. */
  readonly afterEvents?: number
  /** How many requests fail. Default: all until the rule is removed. */
  readonly times?: number
  /** How many matching requests pass before that. Default 0. */
  readonly after?: number
}

const verbs = [
  ...['create', 'delete', 'deletecollection', 'get', 'head', 'list', 'options', 'patch', 'post'],
  ...['put', 'update', 'watch'],
]

/** Codes with a default reason and message. */
const codesWithWords: readonly unknown[] = [409, 429, 500, 503, 504]

type Check = (path: string, value: unknown) => FieldError[]

const text: Check = (path, value) =>
  typeof value === 'string' ? [] : [invalid(path, value, 'must be a string')]

const integer =
  (min: number, max: number = Number.MAX_SAFE_INTEGER): Check =>
  (path, value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
      ? []
      : [invalid(path, value, `must be a whole number between ${min} and ${max}, inclusive`)]

const oneOf =
  (...values: (string | boolean)[]): Check =>
  (path, value) =>
    values.includes(value as string) ? [] : [notSupported(path, value, values.map(String))]

/** An object without other fields. */
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (path, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return [invalid(path, value, 'must be an object')]
    return Object.entries(value).flatMap(([name, inner]) => {
      const check = getOwn(checks, name)
      if (check === undefined) return [forbidden(child(path, name), 'unknown field')]
      return inner === undefined ? [] : check(child(path, name), inner)
    })
  }

const status: Check = (path, value) => {
  const errors = fields({
    code: integer(400, 599),
    reason: text,
    message: text,
    retryAfterSeconds: integer(0, 86_400),
  })(path, value)
  if (errors.length > 0) return errors
  const { code, reason, message } = value as Partial<FaultStatus>
  if (code === undefined) return [required(child(path, 'code'))]
  if (codesWithWords.includes(code)) return []
  const why = `there is no default for ${code}`
  if (reason === undefined) errors.push(required(child(path, 'reason'), why))
  if (message === undefined) errors.push(required(child(path, 'message'), why))
  return errors
}

const rule = fields({
  match: fields({
    verb: oneOf(...verbs),
    apiGroup: text,
    resource: text,
    subresource: text,
    namespace: text,
    name: text,
    user: text,
    userAgent: text,
  }),
  status,
  delayMs: integer(1, limits.faultDelayMsMax),
  cut: oneOf('before', 'after'),
  gone: oneOf(true),
  afterEvents: integer(0),
  times: integer(1),
  after: integer(0),
})

/** Checks which fields go together. */
const together = ({ status, cut, gone, delayMs, afterEvents, match }: FaultRule): FieldError[] => {
  const ends = Object.entries({ status, cut, gone }).filter(([, value]) => value !== undefined)
  const errors = ends
    .slice(1)
    .map(([name]) => forbidden(name, `may not be specified when \`${ends[0]![0]}\` is`))
  if (ends.length === 0 && delayMs === undefined)
    errors.push(
      required('status', 'one of `status`, `cut`, `gone` and `delayMs` must be specified'),
    )
  if (afterEvents !== undefined && gone === undefined && cut !== 'after')
    errors.push(forbidden('afterEvents', "may only be specified with `gone` and `cut: 'after'`"))
  const isOfWatches = gone !== undefined || afterEvents !== undefined
  if (isOfWatches && match?.verb !== undefined && match.verb !== 'watch')
    errors.push(invalid('match.verb', match.verb, 'only a watch has events'))
  return errors
}

/** Throws a 422 that names each wrong field. */
export const checkFaultRule = (value: unknown): FaultRule => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('a fault rule must be an object')
  const errors = rule('', value)
  if (errors.length === 0) errors.push(...together(value))
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'FaultRule' }, '', errors)
  return structuredClone(value)
}
