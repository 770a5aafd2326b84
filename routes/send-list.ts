/** Writes lists: put together of stored bytes where that will do, other forms made of one object after another. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatGroupVersion } from '#api/group-version.js'
import { stringify } from '#api/json.js'
import type { JsonValue, ListMeta } from '#api/object.js'
import { whenKnown } from '#api/when-known.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import { formatYaml } from '#registry/encode/yaml.js'
import { Query } from '#registry/query.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import {
  makeTable,
  parseIncludeObject,
  partialObjectMetadata,
  type TableRequest,
  tableInParts,
} from '#registry/table-printer.js'
import type { Target } from './api-deps.js'
import { bytesOf, type ListBody, listInJson, listOfMade } from './list-body.js'
import { type Negotiated, notAcceptableConversion, protobuf } from './negotiation.js'
import { objectsInProtobuf, partialListInProtobuf } from './protobuf.js'
import { goTypeOf, indent, isIndented, isJson, isProtobuf, sendValue } from './respond.js'
import { sendBytes, sendSegments } from './send-bytes.js'
import { inAlphabet, itemOf, partialTextOf, viewOf } from './stored-json.js'

/** Metadata of a list as upstream writes it; lists of custom resources always have `continue`. */
export interface ListAnswer {
  readonly page: Pick<ListPage, 'items' | 'isSame'>
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
  includeObject: parseIncludeObject(new Query(request.raw.url ?? '').text('includeObject')),
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
    throw notAcceptableConversion(
      `you requested PartialObjectMetadata, but the requested object is a list (${goTypeOf(definition, definition.listKind)})`,
    )
  const send = (body: ListBody | undefined): void | Promise<void> => {
    if (body === undefined) {
      const value = listValue(target, request, answer, negotiated)
      return sendValue(request, reply, value, { code: 200, negotiated })
    }
    reply.code(200).header('content-type', negotiated.mediaType)
    if (negotiated.mediaType !== 'application/json' || !isIndented(negotiated, request))
      return sendSegments(request, reply, body)
    return sendBytes(request, reply, Buffer.from(indent(bytesOf(body).toString().trimEnd())))
  }
  return whenKnown(bodyOf(target, request, answer, negotiated), send)
}

/** Its keys stand in order, and the items as far in as their key: each can be written by itself. */
const listInYaml = (
  definition: ResourceDefinition,
  metadata: ListMeta,
  items: ListPage['items'],
): ListBody => {
  const apiVersion = formatGroupVersion(definition.gvk)
  const end = formatYaml({ kind: definition.listKind, metadata })
  const item = (stored: StoredObject): Buffer =>
    Buffer.from(formatYaml([itemOf(definition, viewOf(definition, stored)) as JsonValue]))
  const none = items.length === 0 ? ' []' : ''
  const frame = [`${formatYaml({ apiVersion })}items:${none}\n`, end] as const
  return listOfMade(frame, items, item, { hasCommas: false })
}

/** The list as it goes out; undefined for a form that is made of it as one value. */
const bodyOf = (
  target: Target,
  request: FastifyRequest,
  { page, metadata }: ListAnswer,
  negotiated: Negotiated,
): ListBody | undefined | Promise<ListBody | undefined> => {
  const { definition } = target
  const { convert, convertVersion, mediaType } = negotiated
  const { items } = page
  if (isJson(negotiated)) return listInJson(frameOfList(definition, metadata), definition, page)
  if (isProtobuf(negotiated)) return objectsInProtobuf(definition, metadata, items)
  if (convert === undefined) return listInYaml(definition, metadata, items)
  // Of no objects Go makes nil.
  if (items.length === 0) return undefined
  if (convert === 'PartialObjectMetadataList') {
    if (mediaType === protobuf)
      return partialListInProtobuf(convertVersion, metadata, items, (stored) =>
        partialObjectMetadata(viewOf(definition, stored), convertVersion, definition),
      )
    if (mediaType !== 'application/json') return undefined
    const opening = { kind: convert, apiVersion: convertVersion, metadata }
    const frame = [`${stringify(opening).slice(0, -1)},"items":[`, ']}\n'] as const
    return listOfMade(frame, items, (stored) => partialTextOf(definition, stored, convertVersion))
  }
  if (convert !== 'Table' || mediaType !== 'application/json') return undefined
  const { opening, rowOf } = tableInParts(metadata, tableRequest(target, request, negotiated))
  const frame = [`${stringify(opening).slice(0, -1)},"rows":[`, ']}\n'] as const
  return listOfMade(frame, items, (stored) =>
    Buffer.from(stringify(rowOf(viewOf(definition, stored)))),
  )
}

const listValue = (
  target: Target,
  request: FastifyRequest,
  { page, metadata }: ListAnswer,
  negotiated: Negotiated,
): unknown => {
  const { definition } = target
  const { convert, convertVersion } = negotiated
  const objects = page.items.map((stored) => viewOf(definition, stored))
  if (convert === 'PartialObjectMetadataList')
    return {
      kind: convert,
      apiVersion: convertVersion,
      metadata,
      // Go's list of none is nil.
      items:
        objects.length === 0
          ? null
          : objects.map((object) => partialObjectMetadata(object, convertVersion, definition)),
    }
  return makeTable(objects, metadata, tableRequest(target, request, negotiated))
}
