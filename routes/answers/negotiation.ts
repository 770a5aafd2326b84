/**
 * What the Accept header asks for: JSON or YAML, whole objects, Tables or metadata alone. Upstream decides in two steps
 * with two texts: go-restful looks at the media types of the route, then apiserver at their parameters. Custom resources
 * have no protobuf, except as PartialObjectMetadata.
 */
import type { FastifyRequest } from 'fastify'
import {
  asksForKind,
  bareType,
  type Clause,
  fitsRoute,
  namesType,
  noneAccepted,
  notAcceptable,
  parseAccept,
} from '#api/accept.js'
import { failure } from '#api/errors.js'
import { Kept } from '#collections/kept.js'
import { limits } from '#limits'
import type { ResourceDefinition } from '#registry/resource-definition.js'

type Conversion = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'

export type MediaType =
  | 'application/json'
  | 'application/yaml'
  | 'application/vnd.kubernetes.protobuf'

export interface Negotiated {
  readonly mediaType: MediaType
  readonly convert: Conversion | undefined
  /** `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`, for what is converted. */
  readonly convertVersion: string
  readonly pretty: boolean
  /** Whether a watch can be streamed in this form. */
  readonly streams: boolean
}

const json = 'application/json'
const yaml = 'application/yaml'
export const protobuf = 'application/vnd.kubernetes.protobuf'
export const mediaTypes: readonly MediaType[] = [json, yaml, protobuf]
const streamTypes = [`${json};stream=watch`, `${protobuf};stream=watch`]

const conversions = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'])

/** Whether this media type can be streamed as the clause asks. */
export const fitsStream = ({ parameters }: Clause, mediaType: string): boolean => {
  const stream = parameters.get('stream') ?? ''
  return stream === '' || (stream === 'watch' && mediaType !== yaml)
}

/** Undefined: this clause cannot be served in this media type. */
const negotiateClause = (clause: Clause, mediaType: MediaType): Negotiated | undefined => {
  const { parameters } = clause
  const kind = parameters.get('as')
  const group = parameters.get('g')
  const version = parameters.get('v')
  if (!fitsStream(clause, mediaType)) return undefined
  const serverVersion = parameters.get('sv') ?? ''
  if (serverVersion !== '' && serverVersion !== 'v1') return undefined
  if (asksForKind(clause)) {
    if (group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined
    if (kind === undefined || !conversions.has(kind)) return undefined
    if (kind === 'Table' && mediaType === protobuf) return undefined
  }
  return {
    mediaType,
    convert: kind as Conversion | undefined,
    convertVersion: `meta.k8s.io/${version ?? 'v1'}`,
    pretty: parameters.get('pretty') === '1',
    streams: mediaType !== yaml,
  }
}

const fallback: Negotiated = {
  mediaType: json,
  convert: undefined,
  convertVersion: 'meta.k8s.io/v1',
  pretty: false,
  streams: true,
}

const indented: Negotiated = { ...fallback, pretty: true }

/** The 406 of a conversion that does not fit what was asked for, which is a list, or is not, and of that Go type. */
export const notConvertible = (
  convert: Conversion,
  is: 'is a list' | 'is not a list',
  goType: string,
) =>
  failure({
    code: 406,
    reason: 'NotAcceptable',
    message: `you requested ${convert}, but the requested object ${is} (${goType})`,
  })

/** The Content-Type of a watch. */
export const streamTypeOf = ({ mediaType }: Negotiated): string =>
  mediaType === protobuf ? `${protobuf};stream=watch` : mediaType

export const streamNotAcceptable = () => noneAccepted(streamTypes)

const negotiate = (
  header: string,
  serves: (found: Negotiated, clause: Clause) => boolean,
): Negotiated | undefined => {
  if (header === '') return fallback
  for (const clause of parseAccept(header))
    for (const mediaType of mediaTypes) {
      if (!namesType(clause, mediaType)) continue
      const found = negotiateClause(clause, mediaType)
      if (found !== undefined && serves(found, clause)) return found
    }
  return undefined
}

/** The form of what is of no version, as discovery and errors: never converted, nor asked for by version (`sv`). */
export const negotiatePlain = (header = ''): Negotiated | undefined =>
  negotiate(header, (_found, clause) => !asksForKind(clause) && !clause.parameters.has('sv'))

/** The form of an error: indented JSON when nothing fits (responsewriters, WriteRawJSON). */
export const negotiateError = (header: string | undefined): Negotiated => {
  if (header === undefined || header === json) return fallback
  return negotiatePlain(header) ?? indented
}

const objectTypes = mediaTypes
const listTypes = [...mediaTypes, ...streamTypes]
const keptForBuiltIn = new Kept<Negotiated | undefined>(limits.headerMeaningsKept)
const keptForCustom = new Kept<Negotiated | undefined>(limits.headerMeaningsKept)
const keptForTableless = new Kept<Negotiated | undefined>(limits.headerMeaningsKept)

const negotiateBuiltIn = (accept: string) => negotiate(accept, () => true)
const negotiateCustom = (accept: string) =>
  negotiate(accept, ({ mediaType, convert }) => mediaType !== protobuf || convert !== undefined)
const negotiateTableless = (accept: string) =>
  negotiate(accept, ({ convert }) => convert !== 'Table')

const producedBy = (collection: boolean): readonly string[] =>
  collection ? listTypes : objectTypes

/** Whether go-restful finds a route for what the client accepts: nothing of the API runs where it does not. */
export const hasRouteFor = (accept: string | undefined, collection: boolean): boolean =>
  fitsRoute(accept, producedBy(collection))

/** Throws 406. `collection` is true for list and watch routes, `table` false for what no Table is made of. */
export const negotiateOutput = (
  { headers }: FastifyRequest,
  { isCustom }: ResourceDefinition,
  { collection = false, table = true } = {},
): Negotiated => {
  const { accept = '' } = headers
  if (accept === json || accept === '' || accept === '*/*') return fallback
  if (!isCustom) {
    const produced = producedBy(collection)
    if (!fitsRoute(accept, produced)) throw notAcceptable(produced)
  }
  const found = isCustom
    ? keptForCustom.of(accept, negotiateCustom)
    : table
      ? keptForBuiltIn.of(accept, negotiateBuiltIn)
      : keptForTableless.of(accept, negotiateTableless)
  if (found === undefined) throw noneAccepted(mediaTypes)
  return found
}

/**
 * A log is always sent as text, but upstream negotiates it like an object, so that `Accept: text/plain` alone is refused.
 * Throws 406.
 */
export const negotiateLog = (accept = ''): Negotiated => {
  const found = accept === '' ? fallback : negotiateTableless(accept)
  if (found === undefined) throw noneAccepted(mediaTypes)
  return found
}

/** Go's mime.ParseMediaType wants a value for each parameter, and each once; one semicolon at the end is let pass. */
const mediaType = /^[^;]*((?:;\s*[^\s;=]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;="]+)\s*)*)(?:;\s*)?$/
const parameterName = /;\s*([^\s;=]+)\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;="]+)/g

const isMediaType = (header: string): boolean => {
  const parameters = mediaType.exec(header)?.[1]
  if (parameters === undefined) return false
  const names = Array.from(parameters.matchAll(parameterName), ([, name]) => name?.toLowerCase())
  return new Set(names).size === names.length
}

/** The media type of a request's body; undefined for an unknown one. `''` is JSON. */
export const inputMediaType = (
  header: string | undefined,
): 'json' | 'yaml' | 'protobuf' | undefined => {
  if (header === undefined || header === '' || header === json) return 'json'
  if (!isMediaType(header)) return undefined
  const type = bareType(header).toLowerCase()
  if (type === json) return 'json'
  if (type === yaml) return 'yaml'
  return type === protobuf ? 'protobuf' : undefined
}
