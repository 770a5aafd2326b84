/** Reads the Accept header. */
import { type ApiError, failure } from '#api/errors.js'

export interface MediaType {
  /** As it was sent: upstream compares it letter by letter. */
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

/** In the client's order of preference. A missing header accepts everything. */
export const parseAccept = (header: string | undefined): MediaType[] => {
  if (header === undefined || header.trim() === '') return [{ type: '*/*', parameters: {} }]
  const clauses = header.split(',').map((clause, order) => {
    const [type = '', ...rest] = clause.split(';').map((part) => part.trim())
    const parameters: Record<string, string> = {}
    for (const part of rest) {
      const [name = '', value = ''] = part.split('=')
      parameters[name.toLowerCase()] = value
    }
    return { type, parameters, quality: Number(parameters.q ?? 1), order }
  })
  return clauses.sort((a, b) => b.quality - a.quality || a.order - b.order)
}

/** go-restful's choice of a route: does any type of the header, without parameters, appear among the route's? */
export const fitsRoute = (header: string | undefined, produced: readonly string[]): boolean => {
  if (header === undefined || header === '') return true
  return header.split(',').some((clause) => {
    const type = (clause.split(';')[0] ?? '').trim()
    return type === '*/*' || produced.includes(type)
  })
}

/** What go-restful says before a handler runs, for routes that list their media types. */
export const notAcceptable = (produced: readonly string[]): ApiError =>
  failure({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${produced.join(', ')}`,
    details: {},
  })
