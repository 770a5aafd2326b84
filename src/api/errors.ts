/**
 * The catalogue of what the server answers when it refuses: one function a reason, each with exactly upstream's
 * code, reason, message and details (apimachinery, pkg/api/errors).
 * A client's mistake is an ApiError; a mistake of ours is an assertion.
 */
import { aggregate } from '#go/aggregate.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import type { FieldError } from './field-error.js'
import {
  formatGroupKind,
  formatGroupResource,
  type GroupKind,
  type GroupResource,
} from './group-version.js'
import type { Status, StatusCause, StatusDetails } from './status.js'

export class ApiError extends Error {
  readonly status: Status
  /** Seconds for the Retry-After header, when the Status asks for one. */
  readonly retryAfterSeconds: number | undefined
  /** Headers that go with the Status. */
  headers: Readonly<Record<string, string>> | undefined

  /** The log gets `cause`, the client does not. */
  constructor(status: Status, { cause }: ErrorOptions = {}) {
    super(status.message ?? status.reason ?? 'error', { cause })
    this.name = 'ApiError'
    this.status = status
    this.retryAfterSeconds = status.details?.retryAfterSeconds
  }

  get code(): number {
    return this.status.code ?? 500
  }
  get reason(): string {
    return this.status.reason ?? ''
  }
}

interface Failure {
  code: number
  reason?: string
  message: string
  details?: StatusDetails
}

/** Builds an ApiError. Errors without a function below are so rare that they are spelled out where they are thrown. */
export const failure = (
  { code, reason, message, details }: Failure,
  options: ErrorOptions = {},
): ApiError => {
  // No stack trace: a refusal is an ordinary answer, and capturing a stack costs more than the rest of it.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return new ApiError(
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message,
        ...(reason === undefined ? {} : { reason }),
        ...(details === undefined ? {} : { details }),
        code,
      },
      options,
    )
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

const detailsOf = (name: string, group: string, kind: string): StatusDetails => {
  const details: StatusDetails = {}
  if (name !== '') details.name = name
  if (group !== '') details.group = group
  if (kind !== '') details.kind = kind
  return details
}
export const resourceDetails = ({ group, resource }: GroupResource, name: string): StatusDetails =>
  detailsOf(name, group, resource)
const kindDetails = ({ group, kind }: GroupKind, name: string): StatusDetails =>
  detailsOf(name, group, kind)

export const notFound = (gr: GroupResource, name: string): ApiError =>
  failure({
    code: 404,
    reason: 'NotFound',
    message: `${formatGroupResource(gr)} ${goQuote(name)} not found`,
    details: resourceDetails(gr, name),
  })

/** An unknown path, group, version or resource: the generic answer with a Status. */
export const pathNotFound = (): ApiError =>
  failure({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  })

export const alreadyExists = (gr: GroupResource, name: string): ApiError =>
  failure({
    code: 409,
    reason: 'AlreadyExists',
    message: `${formatGroupResource(gr)} ${goQuote(name)} already exists`,
    details: resourceDetails(gr, name),
  })

/** Creating over an object that is still terminating (apiserver, store.go Create). */
export const alreadyExistsWhileDeleted = (gr: GroupResource, name: string): ApiError =>
  failure({
    code: 409,
    reason: 'AlreadyExists',
    message: `object is being deleted: ${formatGroupResource(gr)} ${goQuote(name)} already exists`,
    details: resourceDetails(gr, name),
  })

/** generateName found no free name in its tries (apiserver, rest/create.go CheckGeneratedNameError). */
export const generateNameConflict = (
  gr: GroupResource,
  name: string,
  { deleting }: { deleting: boolean },
): ApiError =>
  failure({
    code: 409,
    reason: 'AlreadyExists',
    message: `${deleting ? 'object is being deleted: ' : ''}${formatGroupResource(gr)} ${goQuote(name)} already exists, the server was not able to generate a unique name for the object`,
    details: { ...resourceDetails(gr, name), retryAfterSeconds: 1 },
  })

export const conflict = (gr: GroupResource, name: string, why: string): ApiError =>
  failure({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${formatGroupResource(gr)} ${goQuote(name)}: ${why}`,
    details: resourceDetails(gr, name),
  })

/** A conflict that upstream reports with the kind in place of the resource (apiserver, rest/delete.go BeforeDelete). */
export const conflictOfKind = (gk: GroupKind, name: string, why: string): ApiError =>
  failure({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${formatGroupKind(gk)} ${goQuote(name)}: ${why}`,
    details: kindDetails(gk, name),
  })

export const modifiedMessage =
  'the object has been modified; please apply your changes to the latest version and try again'

/** Server-side apply conflicts: one cause a field. */
export const applyConflict = (message: string, causes: StatusCause[]): ApiError =>
  failure({ code: 409, reason: 'Conflict', message, details: { causes } })

export const forbidden = (gr: GroupResource, name: string, why: string): ApiError =>
  failure({
    code: 403,
    reason: 'Forbidden',
    message:
      gr.resource === ''
        ? `forbidden: ${why}`
        : name === ''
          ? `${formatGroupResource(gr)} is forbidden: ${why}`
          : `${formatGroupResource(gr)} ${goQuote(name)} is forbidden: ${why}`,
    details: resourceDetails(gr, name),
  })

const causesOf = (errors: readonly FieldError[]): StatusCause[] =>
  errors.map((e) => ({ reason: e.type, message: e.body, field: e.field }))

/** As many as an answer holds; the first one is always told. */
const toldOf = (errors: readonly FieldError[]): readonly FieldError[] => {
  let characters = 0
  const end = errors.findIndex(({ field, body }, i) => {
    characters += field.length + body.length
    return i > 0 && (i >= limits.fieldErrorsMax || characters > limits.fieldErrorsCharactersMax)
  })
  return end < 0 ? errors : errors.slice(0, end)
}

/** Field errors in one text, each different one once; there is one at least. */
export const aggregateMessage = (errors: readonly FieldError[]): string =>
  aggregate(errors.map((e) => `${e.field}: ${e.body}`))!

/** 422: every cause is listed, the message names each different one once. */
export const invalid = (gk: GroupKind, name: string, errors: readonly FieldError[]): ApiError => {
  const message = `${formatGroupKind(gk)} ${goQuote(name)} is invalid`
  const details = kindDetails(gk, name)
  if (errors.length === 0) return failure({ code: 422, reason: 'Invalid', message, details })
  const told = toldOf(errors)
  details.causes = causesOf(told)
  const why = aggregateMessage(told)
  return failure({ code: 422, reason: 'Invalid', message: `${message}: ${why}`, details })
}

export const badRequest = (message: string): ApiError =>
  failure({ code: 400, reason: 'BadRequest', message })

/** Upstream's 422 without a word on what is wrong. */
export const rejected = (): ApiError =>
  failure({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  })

/** The body cannot be decoded as the wanted kind, or not strictly. */
export const cannotBeHandled = (
  { version, kind }: { version: string; kind: string },
  problem: string,
  as = kind,
): ApiError =>
  badRequest(`${kind} in version ${goQuote(version)} cannot be handled as a ${as}: ${problem}`)

/** The problem without the frame around it, for messages with another frame. */
export const problemOfDecoding = ({ message }: ApiError): string =>
  message.replace(/^.*? cannot be handled as a \S+: /, '')

export const unauthorized = (): ApiError =>
  failure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' })

export const methodNotAllowed = (): ApiError =>
  failure({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  })

export const methodNotSupported = (gr: GroupResource, verb: string): ApiError =>
  failure({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${verb} is not supported on resources of kind "${formatGroupResource(gr)}"`,
    details: resourceDetails(gr, ''),
  })

export const unsupportedMediaType = (accepted: readonly string[]): ApiError =>
  failure({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  })

export const requestEntityTooLarge = (limitBytes: number): ApiError =>
  failure({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: limit is ${limitBytes}`,
  })

export const tooLargeResourceVersion = (
  asked: number,
  current: number,
  retrySeconds: number,
): ApiError =>
  failure({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      ...(retrySeconds > 0 ? { retryAfterSeconds: retrySeconds } : {}),
    },
  })

/** 410: the history that was asked for is gone. */
export const expired = (message: string): ApiError =>
  failure({ code: 410, reason: 'Expired', message })

export const tooManyRequests = (message: string, retryAfterSeconds: number): ApiError =>
  failure({
    code: 429,
    reason: 'TooManyRequests',
    message,
    details: retryAfterSeconds > 0 ? { retryAfterSeconds } : {},
  })

export const timeout = (message: string, retryAfterSeconds = 0): ApiError =>
  failure({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: ${message}`,
    details: retryAfterSeconds > 0 ? { retryAfterSeconds } : {},
  })

export const serviceUnavailable = (message: string, options: ErrorOptions = {}): ApiError =>
  failure({ code: 503, reason: 'ServiceUnavailable', message }, options)

export const internalError = (message: string, options: ErrorOptions = {}): ApiError =>
  failure(
    {
      code: 500,
      reason: 'InternalError',
      message: `Internal error occurred: ${message}`,
      details: { causes: [{ message }] },
    },
    options,
  )
