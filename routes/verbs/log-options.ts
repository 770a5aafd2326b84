/** PodLogOptions: what the query may ask, checked as upstream does (validation.ValidatePodLogOptions). */
import { badRequest, invalid } from '#api/errors.js'
import type { FieldError } from '#api/field-error.js'

const flags = ['follow', 'previous', 'timestamps'] as const
const isTrue = (text: string): boolean => ['1', 't', 'T', 'true', 'TRUE', 'True', ''].includes(text)

const integerOf = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name)
  if (text === null) return undefined
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`)
}

const tooSmall = (field: string, value: number, why: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  body: `Invalid value: ${value}: ${why}`,
})

/** The query for the kubelet. Throws invalid. */
export const logQuery = (podName: string, query: URLSearchParams): URLSearchParams => {
  const errors: FieldError[] = []
  const tailLines = integerOf(query, 'tailLines')
  const limitBytes = integerOf(query, 'limitBytes')
  const sinceSeconds = integerOf(query, 'sinceSeconds')
  const sinceTime = query.get('sinceTime')
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(tooSmall('tailLines', tailLines, 'must be greater than or equal to 0'))
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    errors.push(tooSmall('limitBytes', limitBytes, 'must be greater than 0'))
  }
  if (sinceSeconds !== undefined && sinceTime) {
    errors.push({
      type: 'FieldValueForbidden',
      field: '[]',
      body: 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
    })
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(tooSmall('sinceSeconds', sinceSeconds, 'must be greater than 0'))
  }
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, errors)
  const wanted = new URLSearchParams()
  for (const flag of flags) {
    const text = query.get(flag)
    if (text !== null && isTrue(text)) wanted.set(flag, 'true')
  }
  const numbers = { tailLines, limitBytes, sinceSeconds }
  for (const [name, value] of Object.entries(numbers)) {
    if (value !== undefined) wanted.set(name, String(value))
  }
  if (sinceTime) wanted.set('sinceTime', sinceTime)
  return wanted
}
