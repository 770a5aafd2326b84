/** PodLogOptions: what the query may ask, checked as upstream does (validation.ValidatePodLogOptions). */
import { badRequest, invalid as invalidObject } from '#api/errors.js'
import { type FieldError, forbidden, invalid } from '#api/field-error.js'
import { zeroTime } from '#go/zero-time.js'
import { canonicalTime, timeProblem } from '#registry/decode/times.js'
import type { Query } from '#registry/query.js'

const flags = ['follow', 'previous', 'timestamps'] as const

const sinceTimeOf = (query: Query): string | undefined => {
  const text = query.textIfGiven('sinceTime')
  if (text === undefined) return undefined
  if (text === '' || text === 'null') return zeroTime
  const time = canonicalTime(text, false)
  if (time === undefined) throw badRequest(timeProblem(text, false))
  return time
}

/** The query for the kubelet. Throws 400, or invalid. */
export const logQuery = (podName: string, query: Query): URLSearchParams => {
  const errors: FieldError[] = []
  const tailLines = query.int64IfGiven('tailLines')
  const limitBytes = query.int64IfGiven('limitBytes')
  const sinceSeconds = query.int64IfGiven('sinceSeconds')
  const sinceTime = sinceTimeOf(query)
  if (tailLines !== undefined && tailLines < 0)
    errors.push(invalid('tailLines', tailLines, 'must be greater than or equal to 0'))
  if (limitBytes !== undefined && limitBytes < 1)
    errors.push(invalid('limitBytes', limitBytes, 'must be greater than 0'))
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    errors.push(forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  else if (sinceSeconds !== undefined && sinceSeconds < 1)
    errors.push(invalid('sinceSeconds', sinceSeconds, 'must be greater than 0'))
  // The feature PodLogsQuerySplitStreams is off.
  if (query.has('stream')) errors.push(forbidden('stream', 'may not be specified'))
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions' }, podName, errors)
  const wanted = new URLSearchParams()
  for (const flag of flags) if (query.flag(flag)) wanted.set(flag, 'true')
  for (const [name, value] of Object.entries({ tailLines, limitBytes, sinceSeconds, sinceTime }))
    if (value !== undefined) wanted.set(name, String(value))
  return wanted
}
