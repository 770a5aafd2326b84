/** Objects as rows of a meta.k8s.io Table (apiserver, handlers/response.go asTable). Columns and cells are the kind's. */

import { badRequest } from '#api/errors.js'
import type { KubeObject, ListMeta } from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import { metadataInOrder } from '#cacher/object-bytes.js'
import { goQuote } from '#go/quote.js'
import { zeroTime } from '#go/zero-time.js'
import { withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { docOfField } from '#openapi/field-docs.js'
import type { ResourceDefinition } from './resource-definition.js'

type IncludeObject = 'Metadata' | 'Object' | 'None'

/** Throws 400. */
export const parseIncludeObject = (text: string): IncludeObject => {
  if (text === '') return 'Metadata'
  if (text === 'Metadata' || text === 'Object' || text === 'None') return text
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${goQuote(text)}: must be 'Metadata', 'Object', 'None', or empty`,
  )
}

export interface TableRequest {
  readonly definition: ResourceDefinition
  /** `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`. */
  readonly apiVersion: string
  readonly includeObject: IncludeObject
  /** Milliseconds since the epoch, for ages. */
  readonly now: number
}

const shownMetadata = (
  { metadata }: KubeObject,
  { fieldAnnotations = [] }: ResourceDefinition,
): KubeObject['metadata'] => {
  const ordered = metadataInOrder(metadata)
  const { annotations, ...others } = ordered
  if (annotations === undefined || fieldAnnotations.length === 0) return ordered
  const kept = Object.entries(annotations).filter(([key]) => !fieldAnnotations.includes(key))
  return kept.length === 0 ? others : { ...ordered, annotations: Object.fromEntries(kept) }
}

export const partialObjectMetadata = (
  object: KubeObject,
  apiVersion: string,
  definition: ResourceDefinition,
): KubeObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion,
  metadata: shownMetadata(object, definition),
})

// Upstream's default convertor appends rows one by one, so that an empty list has null; all others begin with [].
const hasDefaultColumns = ({ columns }: ResourceDefinition): boolean =>
  columns.length === 2 && columns[1]!.name === 'Created At'

const cellsOf = (object: KubeObject, { definition, now }: TableRequest): unknown[] =>
  definition.cells?.(object, now) ?? [
    object.metadata.name ?? '',
    // Bookmarks have no creationTimestamp.
    ...(definition.columns.length > 1 ? [object.metadata.creationTimestamp ?? zeroTime] : []),
  ]

/** Custom objects are maps to Go, built-in ones structs. */
const wholeObject = (object: KubeObject, { isCustom }: ResourceDefinition): JsonValue => {
  const { metadata } = object
  return isCustom ? withKeysInOrder(object) : { ...object, metadata: metadataInOrder(metadata) }
}

const rowOf = (object: KubeObject, request: TableRequest): JsonObject => {
  const { includeObject, apiVersion, definition } = request
  const conditions = definition.rowConditions?.(object)
  return {
    cells: cellsOf(object, request),
    ...(conditions === undefined ? {} : { conditions }),
    object:
      includeObject === 'None'
        ? null
        : includeObject === 'Object'
          ? wholeObject(object, definition)
          : partialObjectMetadata(object, apiVersion, definition),
  } as JsonObject
}

/** As upstream writes them: every field, in its order. */
const columnsOf = oncePerObject(({ columns }: ResourceDefinition): readonly JsonObject[] =>
  columns.map(({ name, type, format, priority, ...more }) => {
    const described = more.describedBy === undefined ? '' : docOfField(more.describedBy)
    return { name, type, format, description: more.description ?? described, priority }
  }),
)

/** A Table in parts, for many rows: the fields before `rows`, and a function that makes a row. */
export const tableInParts = (
  metadata: ListMeta,
  request: TableRequest,
): { opening: JsonObject; rowOf(object: KubeObject): JsonObject } => ({
  opening: openingOf(metadata, request, columnsOf(request.definition)),
  rowOf: (object) => rowOf(object, request),
})

const openingOf = (
  metadata: ListMeta,
  { apiVersion }: TableRequest,
  columns: readonly JsonObject[] | null,
): JsonObject => ({ kind: 'Table', apiVersion, metadata, columnDefinitions: columns }) as JsonObject

/** `columns` false: a later event of a watch, whose header was sent with the first. */
export const makeTable = (
  objects: readonly KubeObject[],
  metadata: ListMeta,
  request: TableRequest,
  { columns = true } = {},
): JsonObject => {
  const { definition } = request
  const rows = objects.map((object) => rowOf(object, request))
  return {
    ...openingOf(metadata, request, columns ? columnsOf(definition) : null),
    rows: rows.length === 0 && hasDefaultColumns(definition) ? null : rows,
  }
}
