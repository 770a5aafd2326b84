/** PodLogOptions: what the query may ask, checked as upstream does (validation.ValidatePodLogOptions). */
import { badRequest, invalid } from '#api/errors.js'
import { type FieldError, forbidden } from '#api/field-error.js'
import { canonicalTime, timeProblem } from '#registry/decode/times.js'
import { isSet } from './connect-options.js'

const flags = ['follow', 'previous', 'timestamps'] as const

const integerOf = (query: URLSearchParams, name: string): bigint | undefined => {
  const text = query.get(name)
  if (text === null) return undefined
  const isNumber = /^[+-]?\d+$/.test(text)
  const value = isNumber ? BigInt(text.replace('+', '')) : 0n
  if (isNumber && BigInt.asIntN(64, value) === value) return value
  const why = isNumber ? 'value out of range' : 'invalid syntax'
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`)
}

/** Go's zero, which no text and `null` stand for. */
const zeroTime = '0001-01-01T00:00:00Z'

const timeOf = (query: URLSearchParams, name: string): string | undefined => {
  const text = query.get(name)
  if (text === null) return undefined
  if (text === '' || text === 'null') return zeroTime
  const time = canonicalTime(text, false)
  if (time === undefined) throw badRequest(timeProblem(text, false))
  return time
}

const tooSmall = (field: string, value: bigint, why: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  body: `Invalid value: ${value}: ${why}`,
})

/** The query for the kubelet. Throws 400, or invalid. */
export const logQuery = (podName: string, query: URLSearchParams): URLSearchParams => {
  const errors: FieldError[] = []
  const tailLines = integerOf(query, 'tailLines')
  const limitBytes = integerOf(query, 'limitBytes')
  const sinceSeconds = integerOf(query, 'sinceSeconds')
  const sinceTime = timeOf(query, 'sinceTime')
  if (tailLines !== undefined && tailLines < 0)
    errors.push(tooSmall('tailLines', tailLines, 'must be greater than or equal to 0'))
  if (limitBytes !== undefined && limitBytes < 1)
    errors.push(tooSmall('limitBytes', limitBytes, 'must be greater than 0'))
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    errors.push(forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  else if (sinceSeconds !== undefined && sinceSeconds < 1)
    errors.push(tooSmall('sinceSeconds', sinceSeconds, 'must be greater than 0'))
  // The feature PodLogsQuerySplitStreams is off.
  if (query.has('stream')) errors.push(forbidden('stream', 'may not be specified'))
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, errors)
  const wanted = new URLSearchParams()
  for (const flag of flags) if (isSet(query, flag)) wanted.set(flag, 'true')
  for (const [name, value] of Object.entries({ tailLines, limitBytes, sinceSeconds, sinceTime }))
    if (value !== undefined) wanted.set(name, String(value))
  return wanted
}
