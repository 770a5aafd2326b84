import type { FastifyRequest } from 'fastify'
import { badRequest } from '#api/errors.js'
import { bodyOf } from '../request-body.js'

/** Throws 400. `what` is what the body should be, for the message. */
export const jsonBodyOf = (request: FastifyRequest, what: string): unknown => {
  try {
    return JSON.parse(String(bodyOf(request)))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw badRequest(`the ${what} is no JSON: ${error.message}`)
  }
}
