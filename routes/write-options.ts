/** CreateOptions, UpdateOptions and PatchOptions from the query. */
import type { FastifyRequest } from 'fastify'
import { Query } from '#registry/query.js'
import {
  checkPatchOptions,
  checkWriteOptions,
  type WriteOptions,
} from '#registry/validate-options.js'
import { bodyOf } from './request-body.js'

const decode = (request: FastifyRequest): WriteOptions => {
  // A body that is too large is refused whatever the options are.
  bodyOf(request)
  const query = new Query(request.url)
  const force = query.flagIfGiven('force')
  return {
    dryRun: query.texts('dryRun'),
    fieldManager: query.text('fieldManager'),
    fieldValidation: query.text('fieldValidation'),
    ...(force === undefined ? {} : { force }),
  }
}

/** Throws 413 and 422. */
export const writeOptionsOf = (
  request: FastifyRequest,
  kind: 'CreateOptions' | 'UpdateOptions',
): WriteOptions => {
  const options = decode(request)
  checkWriteOptions(kind, options)
  return options
}

/** Throws 413 and 422. */
export const patchOptionsOf = (request: FastifyRequest, isApply: boolean): WriteOptions => {
  const options = decode(request)
  checkPatchOptions(options, isApply)
  return options
}
