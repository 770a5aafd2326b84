/** Writes lists: from stored bytes where the form allows, other forms from one object after another. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatGroupVersion } from '#api/group-version.js'
import type { ListMeta } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import type { Copyable } from '#cacher/object-text.js'
import { stringify } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { formatYaml } from '#json/yaml.js'
import { Query } from '#registry/query.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import {
  makeTable,
  parseIncludeObject,
  partialObjectMetadata,
  type TableRequest,
  tableInParts,
} from '#registry/table-printer.js'
import type { Target } from '../api-deps.js'
import {
  bytesOf,
  type Frame,
  itemJson,
  type ListBody,
  listInJson,
  listOfMade,
} from './list-body.js'
import { type Negotiated, notConvertible, protobuf } from './negotiation.js'
import { objectsInProtobuf, partialListInProtobuf } from './protobuf.js'
import { goTypeOf, indent, isIndented, isJson, isProtobuf, sendValue } from './respond.js'
import { sendSegments } from './send-bytes.js'
import { inAlphabet, itemOf, partialTextOf, viewOf } from './stored-json.js'

interface ListAnswer {
  readonly page: Pick<ListPage, 'items' | 'isSame'>
  /** As upstream writes it; lists of custom resources always have `continue`. */
  readonly metadata: ListMeta
}

const frameOfList = (
  { gvk, listKind, isCustom }: ResourceDefinition,
  metadata: ListMeta,
): [head: string, end: string] => {
  const kind = `"kind":${JSON.stringify(listKind)}`
  const version = `"apiVersion":${JSON.stringify(formatGroupVersion(gvk))}`
  if (isCustom)
    return [`{${version},"items":[`, `],${kind},"metadata":${stringify(inAlphabet(metadata))}}\n`]
  return [`{${kind},${version},"metadata":${stringify(metadata)},"items":[`, ']}\n']
}

const tableRequest = (
  { definition }: Target,
  request: FastifyRequest,
  { convertVersion }: Negotiated,
): TableRequest => ({
  definition,
  apiVersion: convertVersion,
  includeObject: parseIncludeObject(new Query(request.url).text('includeObject')),
  now: request.kube.now,
})

export const sendList = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: ListAnswer,
  negotiated: Negotiated,
): void | Promise<void> => {
  const { definition } = target
  if (negotiated.convert === 'PartialObjectMetadata')
    throw notConvertible(negotiated.convert, 'is a list', goTypeOf(definition, definition.listKind))
  const send = (body: ListBody | undefined): void | Promise<void> => {
    if (body === undefined) {
      const value = emptyList(target, request, answer, negotiated)
      return sendValue(request, reply, value, { code: 200, negotiated })
    }
    reply.code(200).header('content-type', negotiated.mediaType)
    return sendSegments(request, reply, body)
  }
  const inLines = negotiated.mediaType === 'application/json' && isIndented(negotiated, request)
  const make = (): void | Promise<void> =>
    whenKnown(bodyOf(target, request, answer, negotiated, inLines), send)
  const { audit } = request.kube
  if (!audit?.showsResponses) return make()
  return whenKnown(auditedText(target, request, answer, negotiated), (text) => {
    audit.answeredWithText(text)
    return make()
  })
}

/** The list as the audit log shows it: in one line of JSON, whatever the client reads. */
const auditedText = (
  target: Target,
  request: FastifyRequest,
  answer: ListAnswer,
  negotiated: Negotiated,
): string | Promise<string> => {
  const inJson = { ...negotiated, mediaType: 'application/json' as const }
  return whenKnown(bodyOf(target, request, answer, inJson, false), (body) =>
    body === undefined
      ? stringify(emptyList(target, request, answer, negotiated))
      : bytesOf(body).toString(),
  )
}

/** Indented, for people: each item is indented by itself, at its depth. */
const indentedList = <T>(
  [head, end]: Frame,
  items: readonly T[],
  jsonOf: (item: T) => string,
): ListBody => {
  const one = '[\n    0\n  ]'
  const [before, after] = indent(`${head}${items.length === 0 ? '' : '0'}${end.trimEnd()}`).split(
    one,
  )
  const frame: Frame = after === undefined ? [before!, ''] : [`${before}[`, `\n  ]${after}`]
  return listOfMade(frame, items, (item) => Buffer.from(`\n    ${indent(jsonOf(item), 2)}`))
}

/** In YAML the keys of a list are sorted and its items are not indented, so that each item can be written by itself. */
const listInYaml = (
  [before, key, after]: readonly [before: object, key: string, after: object],
  items: ListPage['items'],
  shownAs: (stored: StoredObject) => unknown,
): ListBody => {
  const item = (stored: StoredObject): Buffer =>
    Buffer.from(formatYaml([shownAs(stored) as JsonValue]))
  const none = items.length === 0 ? ' []' : ''
  const end = Object.keys(after).length === 0 ? '' : formatYaml(after as JsonObject)
  const frame = [`${formatYaml(before as JsonObject)}${key}:${none}\n`, end] as const
  return listOfMade(frame, items, item, { hasCommas: false })
}

const inRowOrder = (
  definition: ResourceDefinition,
  items: ListPage['items'],
): ListPage['items'] => {
  const { rowOrder } = definition
  if (rowOrder === undefined) return items
  return items.toSorted((a, b) => rowOrder(viewOf(definition, a), viewOf(definition, b)))
}

/** The list as it goes out; undefined for an empty list in another form than that of objects. */
const bodyOf = (
  target: Target,
  request: FastifyRequest,
  { page, metadata }: ListAnswer,
  negotiated: Negotiated,
  indented: boolean,
): ListBody | undefined | Promise<ListBody | undefined> => {
  const { definition } = target
  const { convert, convertVersion, mediaType } = negotiated
  const { items } = page
  if (isJson(negotiated)) {
    const frame = frameOfList(definition, metadata)
    return indented
      ? indentedList(frame, items, (stored) => itemJson(definition, stored))
      : listInJson(frame, definition, page)
  }
  if (isProtobuf(negotiated)) return objectsInProtobuf(definition, metadata, items)
  if (convert === undefined) {
    const apiVersion = formatGroupVersion(definition.gvk)
    const parts = [{ apiVersion }, 'items', { kind: definition.listKind, metadata }] as const
    return listInYaml(parts, items, (stored) => itemOf(definition, viewOf(definition, stored)))
  }
  // An empty list has null here: Go's slice is nil.
  if (items.length === 0) return undefined
  if (convert === 'Table') {
    const { opening, rowOf } = tableInParts(metadata, tableRequest(target, request, negotiated))
    const row = (stored: StoredObject) => rowOf(viewOf(definition, stored))
    const rows = inRowOrder(definition, items)
    if (mediaType === 'application/yaml') return listInYaml([opening, 'rows', {}], rows, row)
    return listAround({ opening, key: 'rows', indented }, rows, (one) => stringify(row(one)))
  }
  const partial = (stored: StoredObject) =>
    partialObjectMetadata(viewOf(definition, stored), convertVersion, definition)
  if (mediaType === protobuf) return partialListInProtobuf(convertVersion, metadata, items, partial)
  const opening = { kind: convert, apiVersion: convertVersion, metadata }
  if (mediaType === 'application/yaml')
    return listInYaml(
      [{ apiVersion: convertVersion }, 'items', { kind: convert, metadata }],
      items,
      partial,
    )
  return listAround({ opening, key: 'items', indented }, items, (stored) =>
    partialTextOf(definition, stored, convertVersion),
  )
}

/** Items behind what the list begins with. */
const listAround = (
  { opening, key, indented }: { opening: object; key: string; indented: boolean },
  items: ListPage['items'],
  textOfItem: (stored: StoredObject) => Copyable | string,
): ListBody => {
  const frame = [`${stringify(opening).slice(0, -1)},"${key}":[`, ']}\n'] as const
  return indented
    ? indentedList(frame, items, (stored) => String(textOfItem(stored)))
    : listOfMade(frame, items, (stored) => {
        const text = textOfItem(stored)
        return typeof text === 'string' ? Buffer.from(text) : text
      })
}

const emptyList = (
  target: Target,
  request: FastifyRequest,
  { metadata }: ListAnswer,
  negotiated: Negotiated,
): unknown => {
  const { convert, convertVersion } = negotiated
  // Go's empty slice is nil.
  if (convert === 'PartialObjectMetadataList')
    return { kind: convert, apiVersion: convertVersion, metadata, items: null }
  return makeTable([], metadata, tableRequest(target, request, negotiated))
}
