/** The options of a connection (PodExecOptions and its like) from the query and the path, as admission sees them. */
import { badRequest } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { Target } from '../api-deps.js'

/** Convert_Slice_string_To_bool: a parameter that is there is true, unless it is `false` or `0`. */
export const isSet = (query: URLSearchParams, name: string): boolean => {
  const value = query.get(name)
  return value !== null && value.toLowerCase() !== 'false' && value !== '0'
}

const streams = (query: URLSearchParams): object => {
  const container = query.get('container')
  return {
    ...Object.fromEntries(
      ['stdin', 'stdout', 'stderr', 'tty'].filter((s) => isSet(query, s)).map((s) => [s, true]),
    ),
    ...(container ? { container } : {}),
  }
}

/** Convert_Slice_string_To_Slice_int32: each value is a list, and numbers are read as ports are. Throws 400. */
const portsOf = (query: URLSearchParams): number[] =>
  query
    .getAll('ports')
    .flatMap((list) => list.split(','))
    .map((text) => {
      const isNumber = /^\d+$/.test(text)
      if (isNumber && Number(text) <= 65_535) return Number(text)
      const why = isNumber ? 'value out of range' : 'invalid syntax'
      throw badRequest(
        `cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`,
      )
    })

const pathOf = (path: string): object => {
  const rest = decodeURIComponent(/\/proxy(\/.*)?$/.exec(path)?.[1] ?? '')
  return rest === '' ? {} : { path: rest }
}

const parts: Readonly<Record<string, (query: URLSearchParams, path: string) => object>> = {
  exec: (query) => ({ ...streams(query), command: query.getAll('command') }),
  attach: streams,
  portforward: (query) => {
    const ports = portsOf(query)
    return ports.length === 0 ? {} : { ports }
  },
  proxy: (_query, path) => pathOf(path),
}

/** Undefined for `log`, which admission does not see as a connection. Throws 400. */
export const connectOptionsOf = (
  { subresource, view }: Target,
  { searchParams, pathname }: URL,
): KubeObject | undefined => {
  const part = parts[subresource]?.(searchParams, pathname)
  if (part === undefined || view === undefined) return undefined
  // Options have no metadata, unlike everything else that admission looks at.
  return { kind: view.kind.kind, apiVersion: view.kind.version, ...part } as KubeObject
}
