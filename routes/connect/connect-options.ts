/** The options of a connection (PodExecOptions and its like) from the query and the path, as admission sees them. */
import { badRequest } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { RequestInfo } from '#api/request-info.js'
import { goQuote } from '#go/quote.js'
import type { Query } from '#registry/query.js'
import type { Target } from '../api-deps.js'

const streams = (query: Query): object => {
  const container = query.text('container')
  return {
    ...Object.fromEntries(
      ['stdin', 'stdout', 'stderr', 'tty'].filter((s) => query.flag(s)).map((s) => [s, true]),
    ),
    ...(container ? { container } : {}),
  }
}

/** Convert_Slice_string_To_Slice_int32: each value is a list, and numbers are read as ports are. Throws 400. */
const portsOf = (query: Query): number[] =>
  query
    .texts('ports')
    .flatMap((list) => list.split(','))
    .map((text) => {
      const isNumber = /^\d+$/.test(text)
      if (isNumber && Number(text) <= 65_535) return Number(text)
      const why = isNumber ? 'value out of range' : 'invalid syntax'
      throw badRequest(
        `cannot convert to []int32: strconv.ParseUint: parsing ${goQuote(text)}: ${why}`,
      )
    })

/** What follows `proxy`, with a slash before it and one behind it where the request has one (handlers/rest.go). */
const pathOf = ({ parts, path }: RequestInfo): object => {
  const rest = parts.slice(3).join('/')
  const begun = rest === '' || rest.startsWith('/') ? rest : `/${rest}`
  const whole = path.endsWith('/') && !begun.endsWith('/') ? `${begun}/` : begun
  return whole === '' ? {} : { path: whole }
}

const fields: Readonly<Record<string, (query: Query, info: RequestInfo) => object>> = {
  exec: (query) => ({ ...streams(query), command: query.texts('command') }),
  attach: streams,
  portforward: (query) => {
    const ports = portsOf(query)
    return ports.length === 0 ? {} : { ports }
  },
  proxy: (_query, info) => pathOf(info),
}

/** Undefined for `log`, which admission does not see as a connection. Throws 400. */
export const connectOptionsOf = (
  { subresource, view }: Target,
  query: Query,
  info: RequestInfo,
): KubeObject | undefined => {
  const own = fields[subresource]?.(query, info)
  if (own === undefined || view === undefined) return undefined
  // Options have no metadata, unlike everything else that admission looks at.
  return { kind: view.kind.kind, apiVersion: view.kind.version, ...own } as KubeObject
}
