/** CreateOptions, UpdateOptions and PatchOptions from the query. */
import type { Query } from '#registry/query.js'
import type { WriteOptions } from '#registry/validate-options.js'

export const decodeWriteOptions = (query: Query): WriteOptions => {
  const force = query.flagIfGiven('force')
  return {
    dryRun: query.texts('dryRun'),
    fieldManager: query.text('fieldManager'),
    fieldValidation: query.text('fieldValidation'),
    ...(force === undefined ? {} : { force }),
  }
}
