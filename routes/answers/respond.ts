/** Writes answers with one object: the stored bytes where the form allows, other forms from the decoded object. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ApiError, failure } from '#api/errors.js'
import { internalType } from '#api/internal-type.js'
import type { KubeObject, ListMeta } from '#api/object.js'
import { isPretty } from '#api/pretty.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { stringify } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { formatYaml } from '#json/yaml.js'
import { Query } from '#registry/query.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { makeTable, parseIncludeObject, partialObjectMetadata } from '#registry/table-printer.js'
import type { Target } from '../api-deps.js'
import { type Negotiated, negotiateError, notConvertible, protobuf } from './negotiation.js'
import { inProtobuf, storedInProtobuf } from './protobuf.js'
import { sendBytes } from './send-bytes.js'
import { lineOf, viewOf } from './stored-json.js'

/** A value in the negotiated media type. JSON is indented for people. */
export const sendValue = (
  request: FastifyRequest,
  reply: FastifyReply,
  value: unknown,
  { code, negotiated }: { code: number; negotiated: Negotiated },
): void | Promise<void> => {
  request.kube.audit?.answeredWith(value)
  reply.code(code).header('content-type', negotiated.mediaType)
  if (negotiated.mediaType === protobuf) return sendBytes(request, reply, inProtobuf(value))
  if (negotiated.mediaType === 'application/yaml')
    return sendBytes(request, reply, Buffer.from(formatYaml(value as JsonObject)))
  return sendBytes(request, reply, jsonFor(request, value, negotiated))
}

/** An answer of kubelevel's own paths: always JSON. */
export const sendJson = (
  request: FastifyRequest,
  reply: FastifyReply,
  value: object,
  code = 200,
): void | Promise<void> =>
  sendValue(request, reply, value, { code, negotiated: negotiateError(undefined) })

/** JSON, indented for people or in one line with a line end. */
export const jsonFor = (
  request: FastifyRequest,
  value: unknown,
  negotiated?: Negotiated,
): Buffer => {
  const pretty = isPretty(negotiated?.pretty ?? false, request)
  return Buffer.from(pretty ? indent(stringify(value)) : `${stringify(value)}\n`)
}

/**
 * Re-indents JSON text without parsing numbers, which may not fit a double. `depthOutside` is the depth at which it
 * stands.
 */
export const indent = (text: string, depthOutside = 0): string => {
  let out = ''
  let depth = depthOutside
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
export const isJson = (negotiated: Negotiated): boolean =>
  negotiated.convert === undefined && negotiated.mediaType === 'application/json'

export const isProtobuf = ({ convert, mediaType }: Negotiated): boolean =>
  convert === undefined && mediaType === protobuf

export const isIndented = (negotiated: Negotiated, request: FastifyRequest): boolean =>
  isPretty(negotiated.pretty, request)

/** A subresource of another kind than its parent has a group of its own. */
export const goTypeOf = (
  definition: ResourceDefinition,
  kind: string,
  group: string = definition.gvr.group,
): string => {
  if (definition.isCustom) return `*unstructured.Unstructured${kind.endsWith('List') ? 'List' : ''}`
  return `*${internalType(group, kind)}`
}

const notAList = ({ definition, view }: Target, kind: string): ApiError => {
  // Upstream's Unstructured implements the list interface, and fails when it turns out to have no items.
  if (definition.isCustom && view === undefined)
    return failure({ code: 500, message: 'content is not a list' })
  const goType = definition.isCustom ? `*v1.${kind}` : goTypeOf(definition, kind, view?.kind.group)
  return notConvertible('PartialObjectMetadataList', 'is not a list', goType)
}

/** An object that is not stored, in the negotiated form. */
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
  if (convert === 'PartialObjectMetadataList') throw notAList(target, object.kind)
  const value =
    convert === 'PartialObjectMetadata'
      ? partialObjectMetadata(object, convertVersion, definition)
      : makeTable([object], objectListMeta(object), {
          definition,
          apiVersion: convertVersion,
          includeObject: parseIncludeObject(new Query(request.url).text('includeObject')),
          now: request.kube.now,
        })
  return sendValue(request, reply, value, { code, negotiated })
}

const objectListMeta = ({ metadata }: KubeObject): ListMeta =>
  metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }

/**
 * A custom object whose `items` is a list passes for a list upstream, which then finds no Items in it
 * (transformResponseObject). A write has been done by then.
 */
const mustBeOneObject = ({ isCustom }: ResourceDefinition, object: KubeObject): void => {
  if (isCustom && Array.isArray(object.items))
    throw failure({
      code: 500,
      message: '*unstructured.Unstructured is not a list: no Items field in this object',
    })
}

/** A stored object: its bytes as they are, unless another form was asked for. */
export const sendStored = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  stored: StoredObject,
  { code, negotiated }: { code: number; negotiated: Negotiated },
): void | Promise<void> => {
  const { definition } = target
  const { audit } = request.kube
  if (audit?.showsResponses && negotiated.convert === undefined)
    audit.answeredWithText(lineOf(definition, stored).toString())
  if (isProtobuf(negotiated)) {
    reply.code(code).header('content-type', protobuf)
    return sendBytes(request, reply, storedInProtobuf(definition, stored))
  }
  if (!isJson(negotiated)) {
    const object = viewOf(definition, stored)
    mustBeOneObject(definition, object)
    return sendObject(target, request, reply, object, { code, negotiated })
  }
  const line = lineOf(definition, stored)
  // The text is looked at first: the object may have to be decoded for this.
  if (definition.isCustom && line.includes('"items":['))
    mustBeOneObject(definition, viewOf(definition, stored))
  const bytes = isIndented(negotiated, request)
    ? Buffer.from(indent(line.toString().trimEnd()))
    : line
  reply.code(code).header('content-type', 'application/json')
  return sendBytes(request, reply, bytes)
}

/** A stored object, or what the view shows of it. */
export const sendShown = (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply,
  stored: StoredObject,
  how: { code: number; negotiated: Negotiated },
): void | Promise<void> => {
  const { view } = target
  return view?.read === undefined
    ? sendStored(target, request, reply, stored, how)
    : sendObject(target, request, reply, view.read(stored.object), how)
}
