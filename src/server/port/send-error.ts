/** Answers errors that no handler has answered: with a Status, or with plain text where upstream has plain text. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, badRequest, internalError, requestEntityTooLarge } from '#api/errors.js'
import { PlainTextError } from '#api/plain-text-error.js'
import { limits } from '#limits'
import { negotiateError } from '#routes/answers/negotiation.js'
import { sendValue } from '#routes/answers/respond.js'

const toApiError = (error: Error & { code?: string; statusCode?: number }): ApiError => {
  if (error instanceof ApiError) return error
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return requestEntityTooLarge(limits.requestBodyBytesMax)
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return badRequest(error.message)
  return internalError(error.message, { cause: error })
}

/** Logs an error of ours. */
export type Report = (about: { err: unknown; url: string }, message: string) => void

/** Given up because its client is gone: nobody is answered, and nothing is wrong. */
const isGivenUp = (cause: unknown, { kube }: FastifyRequest): boolean =>
  cause instanceof Error && cause.name === 'AbortError' && kube?.isOver === true

export const errorSender =
  (report: Report) =>
  (error: Error, request: FastifyRequest, reply: FastifyReply): void | Promise<void> => {
    if (reply.sent) return
    if (error instanceof PlainTextError) {
      reply
        .code(error.code)
        .headers(error.headers)
        .header('content-type', 'text/plain; charset=utf-8')
        .send(error.message)
      return
    }
    const refusal = toApiError(error)
    // Upstream answers some mistakes of clients with a 500: only what has a cause is a mistake of ours.
    const { cause } = refusal
    if (refusal.code >= 500 && cause !== undefined && !isGivenUp(cause, request))
      report({ err: cause, url: request.url }, refusal.message)
    if (refusal.headers !== undefined) reply.headers(refusal.headers)
    if (refusal.retryAfterSeconds !== undefined)
      reply.header('retry-after', String(refusal.retryAfterSeconds))
    // Go's status text; HTTP/2 has none.
    if (refusal.code === 413 && request.raw.httpVersionMajor === 1)
      reply.raw.statusMessage = 'Request Entity Too Large'
    // The code may come from a webhook; Fastify sends none above 599.
    const code = Math.min(refusal.code, 599)
    const negotiated = negotiateError(request.headers.accept)
    return sendValue(request, reply, refusal.status, { code, negotiated })
  }
