/** Writes answers: stored bytes as they are where that will do, other forms made from the objects. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatGroupVersion } from '#api/group-version.js'
import { stringify } from '#api/json.js'
import type { JsonObject, KubeObject, ListMeta } from '#api/object.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import { Query } from '#registry/query.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { makeTable, parseIncludeObject, partialObjectMetadata } from '#registry/table-printer.js'
import { formatYaml } from '#registry/yaml.js'
import type { Target } from './api-deps.js'
import { listInJson } from './list-body.js'
import { isPretty, type Negotiated, notAcceptableConversion, protobuf } from './negotiation.js'
import { inProtobuf, listInProtobuf, storedInProtobuf } from './protobuf.js'
import { sendBytes, sendSegments } from './send-bytes.js'
import { bytesOf, bytesOnce, inAlphabet, itemOf, viewOf } from './stored-json.js'

/** A value in the media type that was agreed on; JSON is indented where the client is a person. */
export const sendValue = (
  request: FastifyRequest,
  reply: FastifyReply,
  value: unknown,
  { code, negotiated }: { code: number; negotiated: Negotiated },
): void | Promise<void> => {
  reply.code(code).header('content-type', negotiated.mediaType)
  if (negotiated.mediaType === protobuf) return sendBytes(request, reply, inProtobuf(value))
  if (negotiated.mediaType === 'application/yaml')
    return sendBytes(request, reply, Buffer.from(formatYaml(value as JsonObject)))
  return sendBytes(request, reply, jsonFor(request, value, negotiated))
}

/** JSON as the client likes it: indented, or in one line with its end. */
export const jsonFor = (
  request: FastifyRequest,
  value: unknown,
  negotiated?: Negotiated,
): Buffer => {
  const pretty = isPretty(negotiated?.pretty ?? false, request.raw.url ?? '', userAgentOf(request))
  return Buffer.from(pretty ? indent(stringify(value)) : `${stringify(value)}\n`)
}

const userAgentOf = (request: FastifyRequest): string => request.headers['user-agent'] ?? ''

/** Re-indents JSON text without reading numbers, which may be larger than a double holds. */
const indent = (text: string): string => {
  let out = ''
  let depth = 0
  let copied = 0
  const newline = (): string => `\n${'  '.repeat(depth)}`
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === '"') {
      at++
      while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
      continue
    }
    if (char === '{' || char === '[') {
      const next = text[at + 1]
      if (next === '}' || next === ']') {
        at++
        continue
      }
      depth++
      out += text.slice(copied, at + 1) + newline()
    } else if (char === '}' || char === ']') {
      depth--
      out += text.slice(copied, at) + newline() + char
    } else if (char === ',') out += text.slice(copied, at + 1) + newline()
    else if (char === ':') out += `${text.slice(copied, at + 1)} `
    else continue
    copied = at + 1
  }
  return out + text.slice(copied)
}

/** Made of the bytes that are stored. */
const isJson = (negotiated: Negotiated): boolean =>
  negotiated.convert === undefined && negotiated.mediaType === 'application/json'

const isProtobuf = ({ convert, mediaType }: Negotiated): boolean =>
  convert === undefined && mediaType === protobuf

const isIndented = (negotiated: Negotiated, request: FastifyRequest): boolean =>
  isPretty(negotiated.pretty, request.raw.url ?? '', userAgentOf(request))

const goTypeOf = (definition: ResourceDefinition, kind: string): string => {
  if (definition.isCustom) return `*unstructured.Unstructured${kind.endsWith('List') ? 'List' : ''}`
  const group = definition.gvr.group.split('.')[0]
  return `*${group === '' ? 'core' : group}.${kind}`
}

/** An object that is no row of storage, in the form that was asked for. */
export const sendObject = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  object: KubeObject,
  { code, negotiated }: { code: number; negotiated: Negotiated },
): void | Promise<void> => {
  const { view } = target
  const definition =
    view?.table === undefined ? target.definition : { ...target.definition, ...view.table }
  const { convert, convertVersion } = negotiated
  if (convert === undefined || object.kind === 'Status')
    return sendValue(request, reply, object, { code, negotiated })
  if (convert === 'PartialObjectMetadataList')
    throw notAcceptableConversion(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${goTypeOf(definition, object.kind)})`,
    )
  const value =
    convert === 'PartialObjectMetadata'
      ? partialObjectMetadata(object, convertVersion, definition)
      : makeTable([object], objectListMeta(object), {
          definition,
          apiVersion: convertVersion,
          includeObject: parseIncludeObject(new Query(request.raw.url ?? '').text('includeObject')),
          now: request.kube.now,
        })
  return sendValue(request, reply, value, { code, negotiated })
}

const objectListMeta = ({ metadata }: KubeObject): ListMeta =>
  metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }

/** A stored object: its bytes as they are, unless another form was asked for. */
export const sendStored = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  stored: StoredObject,
  { code, negotiated }: { code: number; negotiated: Negotiated },
): void | Promise<void> => {
  const { definition } = target
  if (isProtobuf(negotiated)) {
    reply.code(code).header('content-type', protobuf)
    return sendBytes(request, reply, storedInProtobuf(definition, stored))
  }
  if (!isJson(negotiated))
    return sendObject(target, request, reply, viewOf(definition, stored), { code, negotiated })
  // What was read once is read again; what was written is told to its writer alone.
  const json = (request.method === 'GET' ? bytesOf : bytesOnce)(definition, stored)
  const bytes = isIndented(negotiated, request)
    ? Buffer.from(indent(json.toString().trimEnd()))
    : json
  reply.code(code).header('content-type', 'application/json')
  return sendBytes(request, reply, bytes)
}

/** Metadata of a list as upstream writes it; lists of custom resources always have `continue`. */
export interface ListAnswer {
  readonly page: Pick<ListPage, 'items'>
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

export const sendList = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  { page, metadata }: ListAnswer,
  negotiated: Negotiated,
): void | Promise<void> => {
  const { definition } = target
  if (isJson(negotiated)) {
    reply.code(200).header('content-type', 'application/json')
    const frame = frameOfList(definition, metadata)
    const body = listInJson(frame, definition, page.items)
    if (!isIndented(negotiated, request)) return sendSegments(request, reply, body)
    return sendBytes(request, reply, Buffer.from(indent(body.bytes().toString().trimEnd())))
  }
  if (isProtobuf(negotiated)) {
    reply.code(200).header('content-type', protobuf)
    return listInProtobuf(definition, metadata, page.items).then((body) =>
      sendSegments(request, reply, body),
    )
  }
  return sendValue(request, reply, listValue(target, request, { page, metadata }, negotiated), {
    code: 200,
    negotiated,
  })
}

const listValue = (
  { definition }: Target,
  request: FastifyRequest,
  { page, metadata }: ListAnswer,
  { convert, convertVersion }: Negotiated,
): unknown => {
  const objects = page.items.map((stored) => viewOf(definition, stored))
  if (convert === undefined)
    return {
      kind: definition.listKind,
      apiVersion: formatGroupVersion(definition.gvk),
      metadata,
      items: objects.map((object) => itemOf(definition, object)),
    }
  if (convert === 'PartialObjectMetadata')
    throw notAcceptableConversion(
      `you requested PartialObjectMetadata, but the requested object is a list (${goTypeOf(definition, definition.listKind)})`,
    )
  if (convert === 'PartialObjectMetadataList')
    return {
      kind: 'PartialObjectMetadataList',
      apiVersion: convertVersion,
      metadata,
      // Go's list of none is nil.
      items:
        objects.length === 0
          ? null
          : objects.map((object) => partialObjectMetadata(object, convertVersion, definition)),
    }
  return makeTable(objects, metadata, {
    definition,
    apiVersion: convertVersion,
    includeObject: parseIncludeObject(new Query(request.raw.url ?? '').text('includeObject')),
    now: request.kube.now,
  })
}
