/** Kinds of errors that the server answers, as our processes tell them apart. */
import { ApiError, failure } from '#api/errors.js'
import type { Status } from '#api/status.js'

const hasReason =
  (reason: string) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.reason === reason

export const isNotFound = hasReason('NotFound')
export const isConflict = hasReason('Conflict')
export const isAlreadyExists = hasReason('AlreadyExists')
export const isInvalid = hasReason('Invalid')
export const isMethodNotAllowed = hasReason('MethodNotAllowed')
export const isTooManyRequests = hasReason('TooManyRequests')

/** 410: the history that was asked for is gone; both reasons are in use upstream. */
export const isExpired = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 410 || error.reason === 'Expired')

/** The namespace is on its way out, so that creating in it will not succeed any more. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.status.details?.causes ?? []).some((c) => c.reason === 'NamespaceTerminating')

const unexpected = 'UnexpectedServerResponse'

/** Whether the server answered with something else than a Status. */
export const isUnexpectedAnswer = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.status.details?.causes ?? []).some(({ reason }) => reason === unexpected)

/** client-go's messages by code, whatever the text of the answer. */
const genericMessages: Readonly<Record<number, string>> = {
  404: 'the server could not find the requested resource',
  503: 'the server is currently unable to handle the request',
}
const genericReasons: Readonly<Record<number, string>> = {
  404: 'NotFound',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
}

/** An answer that is no Status (a proxy's, or the 429 of an overloaded server) becomes one. */
export const errorFromAnswer = (code: number, text: string): ApiError => {
  try {
    const status = JSON.parse(text) as Status
    if (status.kind === 'Status') return new ApiError({ ...status, code: status.code ?? code })
  } catch {
    // Not JSON: falls through to the text itself.
  }
  const said = text.trim()
  return failure({
    code,
    reason: genericReasons[code] ?? 'Unknown',
    message: genericMessages[code] ?? (said || `HTTP ${code}`),
    details: { causes: [{ reason: unexpected, message: said }] },
  })
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
