/** Reads headers that name media types: Accept and Content-Type. */
import { type ApiError, failure } from '#api/errors.js'
import { limits } from '#limits'

export interface Clause {
  /** The media type as it was sent, since upstream compares it letter by letter; `*` alone stands for everything. */
  readonly type: string
  /** All but `q`. A parameter without a value counts as not given. */
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

const everything = '*/*'

const parseClause = (text: string): Clause | undefined => {
  const [first = '', ...rest] = text.split(';')
  const type = first.trim()
  if (!type.includes('/') && type !== '*') return undefined
  const parameters = new Map<string, string>()
  for (const parameter of rest) {
    const at = parameter.indexOf('=')
    const value = at < 0 ? '' : parameter.slice(at + 1).trim()
    if (value !== '') parameters.set(parameter.slice(0, at).trim(), value)
  }
  const quality = Number(parameters.get('q') ?? '1')
  parameters.delete('q')
  return {
    type: type === '*' ? everything : type,
    parameters,
    quality: Number.isNaN(quality) ? 0 : quality,
  }
}

/** Goautoneg's comparison, which is no total order: the more specific of two types and the one of higher quality both go first. */
const goesBefore = (a: Clause, b: Clause): boolean =>
  a.quality > b.quality ||
  (!a.type.startsWith('*/') && b.type.startsWith('*/')) ||
  (!a.type.endsWith('/*') && b.type.endsWith('/*'))

/** Whether it asks for a kind of answer: `as`, `g` or `v` is given. */
export const asksForKind = ({ parameters }: Clause): boolean =>
  ['as', 'g', 'v'].some((name) => parameters.has(name))

/**
 * Because the comparison is no total order, the sort must be Go's where it matters. More clauses than anybody sends are
 * not inserted: that takes their square, and a header has room for a quarter of a million.
 */
const inOrder = (clauses: Clause[]): readonly Clause[] => {
  if (clauses.length > limits.insertedTypesMax)
    return clauses.sort((a, b) => (goesBefore(a, b) ? -1 : Number(goesBefore(b, a))))
  for (let from = 1; from < clauses.length; from++)
    for (let at = from; at > 0 && goesBefore(clauses[at]!, clauses[at - 1]!); at--)
      clauses.splice(at - 1, 2, clauses[at]!, clauses[at - 1]!)
  return clauses
}

/** Clauses in the order in which upstream tries them (goautoneg, ParseAccept). A missing header accepts everything. */
export const parseAccept = (header: string | undefined): readonly Clause[] => {
  const text = header === undefined || header.trim() === '' ? everything : header
  const clauses = text.split(',').map(parseClause)
  return inOrder(clauses.filter((clause) => clause !== undefined))
}

/** Whether what a clause names is this media type, by name, by its family or by `*` alone. */
export const namesType = ({ type }: Clause, mediaType: string): boolean =>
  type === mediaType || type === everything || type === `${mediaType.split('/', 1)[0]}/*`

/** A media type without its parameters. */
export const bareType = (mediaType: string): string => mediaType.split(';', 1)[0]!.trim()

/** The media types of a header, without their parameters. */
export const bareTypes = (header: string): string[] => header.split(',').map(bareType)

/** go-restful's choice of a route: does any type of the header, without parameters, appear among the route's? */
export const fitsRoute = (header: string | undefined, produced: readonly string[]): boolean =>
  !header || bareTypes(header).some((type) => type === '*/*' || produced.includes(type))

/** What go-restful says of the type of a body that no route takes. */
export const noRouteForType = (): ApiError =>
  failure({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  })

/** Throws 415 for a type that the route does not take, though the method has no use for any body. */
export const checkContentType = (header: string, consumed: readonly string[]): void => {
  if (!header || bareTypes(header).some((type) => consumed.includes(type))) return
  throw noRouteForType()
}

/** What apiserver says when go-restful has let the types pass, or is not asked. */
export const noneAccepted = (accepted: readonly string[]): ApiError =>
  failure({
    code: 406,
    reason: 'NotAcceptable',
    message: `only the following media types are accepted: ${accepted.join(', ')}`,
  })

/** What go-restful says before a handler runs, for routes that list their media types. */
export const notAcceptable = (produced: readonly string[]): ApiError =>
  failure({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${produced.join(', ')}`,
    details: {},
  })
