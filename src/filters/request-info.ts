/**
 * Parses a RequestInfo. Every filter and metric reads it, so it is made once a request and no path makes it throw: what
 * is no resource request is a non-resource request. Rules: upstream's pkg/endpoints/request/requestinfo.go.
 */

import { isPathSegmentName } from '#api/names.js'
import type { RequestInfo } from '#api/request-info.js'
import { parseFieldSelector, parseLabelSelector, SelectorError } from '#api/selectors.js'
import { pathUnescape } from '#go/path-unescape.js'
import { parseInt64 } from '#json/int64.js'
import { getOwn } from '#json/object.js'
import { Query } from '#registry/query.js'

const namespaceSubresources = new Set(['status', 'finalize'])
/** Old verbs in the path: `/api/v1/watch/pods`. */
const pathVerbs = new Set(['proxy', 'watch'])
const methodVerbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

const slash = 0x2f

const nonResource = (path: string, method: string): RequestInfo => ({
  isResourceRequest: false,
  path,
  verb: method.toLowerCase(),
  apiGroup: '',
  apiVersion: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  fieldSelector: '',
  labelSelector: '',
  parts: [],
})

const isReadable = (query: Query, parameter: string, read: (text: string) => unknown) => {
  const text = query.textIfGiven(parameter)
  if (text === undefined) return true
  try {
    return read(text) !== undefined
  } catch (error) {
    if (error instanceof SelectorError) return false
    throw error
  }
}

/**
 * The one name that a list is for, if it is a legal path segment. Where any option cannot be read, upstream has no
 * name.
 */
const nameOfList = (query: Query): string => {
  const selector = query.text('fieldSelector')
  if (!selector.includes('metadata.name')) return ''
  const isDecoded =
    isReadable(query, 'limit', parseInt64) &&
    isReadable(query, 'timeoutSeconds', parseInt64) &&
    isReadable(query, 'labelSelector', parseLabelSelector) &&
    isReadable(query, 'fieldSelector', parseFieldSelector)
  if (!isDecoded) return ''
  const exact = parseFieldSelector(selector).find(
    ({ field, operator }) => field === 'metadata.name' && operator === '=',
  )
  const name = exact?.value ?? ''
  return isPathSegmentName(name).length === 0 ? name : ''
}

/** `url` is the request target as it came: path and query, percent-encoded. */
export const parseRequestInfo = (method: string, url: string): RequestInfo => {
  const mark = url.indexOf('?')
  const target = mark < 0 ? url : url.slice(0, mark)
  const path = pathUnescape(target) ?? target
  const parts = segmentsOf(path)
  if (parts.length < 3 || (parts[0] !== 'api' && parts[0] !== 'apis'))
    return nonResource(path, method)
  const grouped = parts[0] === 'apis'
  if (grouped && parts.length < 4) return nonResource(path, method)
  return resourceInfo(path, method, url, {
    apiGroup: grouped ? parts[1]! : '',
    apiVersion: parts[grouped ? 2 : 1]!,
    rest: parts.slice(grouped ? 3 : 2),
  })
}

/** A legacy verb without a resource: upstream fails to make a RequestInfo of it. */
export const isUndetermined = ({ isResourceRequest, parts }: RequestInfo): boolean =>
  isResourceRequest && parts.length === 1 && pathVerbs.has(parts[0]!)

/**
 * Segments of the path, without slashes at either end. Written out, because `split` of a new string leaves JavaScript.
 */
const segmentsOf = (path: string): string[] => {
  let start = 0
  let end = path.length
  while (start < end && path.charCodeAt(start) === slash) start++
  while (end > start && path.charCodeAt(end - 1) === slash) end--
  const segments: string[] = []
  while (start < end) {
    const next = path.indexOf('/', start)
    const stop = next < 0 || next > end ? end : next
    segments.push(path.slice(start, stop))
    start = stop + 1
  }
  return segments
}

interface Identified {
  apiGroup: string
  apiVersion: string
  rest: string[]
}

const resourceInfo = (
  path: string,
  method: string,
  url: string,
  { apiGroup, apiVersion, rest }: Identified,
): RequestInfo => {
  let parts = rest
  let verb = getOwn(methodVerbs, method) ?? ''
  if (pathVerbs.has(parts[0]!) && parts.length > 1) {
    verb = parts[0]!
    parts = parts.slice(1)
  }
  let namespace = ''
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = parts[1]!
    // `/namespaces/x/status` is a subresource of the Namespace, `/namespaces/x/pods` a resource inside it.
    if (parts.length > 2 && !namespaceSubresources.has(parts[2]!)) parts = parts.slice(2)
  }
  let name = parts[1] ?? ''
  let fieldSelector = ''
  let labelSelector = ''
  const subresource = verb === 'proxy' ? '' : (parts[2] ?? '')
  if (name === '' && (verb === 'get' || verb === 'delete')) {
    const query = new Query(url)
    fieldSelector = query.text('fieldSelector')
    labelSelector = query.text('labelSelector')
    if (verb === 'get') {
      verb = query.flag('watch') ? 'watch' : 'list'
      name = nameOfList(query)
    } else verb = 'deletecollection'
  }
  return {
    isResourceRequest: true,
    path,
    verb,
    apiGroup,
    apiVersion,
    namespace,
    resource: parts[0]!,
    subresource,
    name,
    fieldSelector,
    labelSelector,
    parts,
  }
}
