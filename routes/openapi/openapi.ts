/** /openapi/v2 and /openapi/v3: the index, the documents, and in which form they are sent. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clause, namesType, parseAccept } from '#api/accept.js'
import { Query } from '#registry/query.js'
import { serveContent } from '../answers/serve-content.js'
import type { RemoteSource } from '../discovery/remote-versions.js'
import {
  type Document,
  type DocumentSources,
  Documents,
  json,
  protobufV2,
  protobufV3,
} from './documents.js'

const compress = promisify(gzip)

// No valid media types: old clients ask for them, and nothing is sent under them.
const formerProtobufV2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const formerProtobufV3 = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf'

/** Of a media type the family alone may be `*`, too, unlike elsewhere (kube-openapi). */
const standsFor = (clause: Clause, mediaType: string): boolean =>
  namesType(clause, mediaType) || clause.type === `*/${mediaType.split('/')[1]}`

/** The first form that the client names; JSON where any will do. */
const acceptedForm = (
  clauses: readonly Clause[],
  protobuf: readonly string[],
): 'json' | 'protobuf' | undefined => {
  for (const clause of clauses) {
    if (standsFor(clause, json)) return 'json'
    if (protobuf.some((form) => standsFor(clause, form))) return 'protobuf'
  }
  return undefined
}

const sendDocument = (
  request: FastifyRequest,
  reply: FastifyReply,
  document: Document,
  { packs }: { packs: boolean },
): Promise<FastifyReply> => {
  document.modifiedAt ??= request.kube.now
  const packed = async () => (document.packed ??= await compress(document.bytes))
  return serveContent(request, reply, {
    ...document,
    modifiedAt: document.modifiedAt,
    packed: packs ? packed : undefined,
  })
}

/** What this server itself describes. */
export interface OwnDocuments {
  /** As the index of OpenAPI v3 names it: `apis/apps/v1`. */
  has(name: string): boolean
}

export const installOpenApi = (
  app: FastifyInstance,
  options: DocumentSources & { readonly remote: RemoteSource },
): OwnDocuments => {
  const documents = new Documents(options)

  app.all('/openapi/v2', async (request, reply) => {
    const form = acceptedForm(parseAccept(request.headers.accept), [protobufV2, formerProtobufV2])
    reply.header('vary', ['Accept-Encoding', 'Accept'])
    if (form === undefined) return reply.code(406).send()
    const remotes = await options.remote.openApiV2Documents()
    const document = form === 'json' ? documents.v2(remotes) : documents.v2Protobuf(remotes)
    return sendDocument(request, reply, await document, { packs: true })
  })
  app.all('/openapi/v3', (request, reply) => {
    // Where there are two documents for one path, this server's own wins.
    const urls = new Map([
      ...options.remote.openApiPaths(),
      ...[...documents.names].map((name): [string, string] => [
        name,
        `/openapi/v3/${name}?hash=${documents.hash(name)}`,
      ]),
    ])
    const paths = Object.fromEntries(
      [...urls.keys()].sort().map((name) => [name, { serverRelativeURL: urls.get(name) }]),
    )
    return serveContent(request, reply, {
      bytes: Buffer.from(JSON.stringify({ paths })),
      // Upstream leaves the type of the index to Go's guess.
      contentType: 'text/plain; charset=utf-8',
      modifiedAt: request.kube.now,
    })
  })
  app.all('/openapi/v3/*', async (request, reply) => {
    const name = (request.params as { '*': string })['*']
    const hash = documents.hash(name)
    if (hash === undefined) return reply.code(404).send()
    reply.header('vary', 'Accept')
    const clauses = parseAccept(request.headers.accept)
    // A header without any media type is not refused but answered with nothing (kube-openapi, handler3).
    if (clauses.length === 0) return reply.code(200).send()
    const form = acceptedForm(clauses, [protobufV3, formerProtobufV3])
    if (form === undefined) return reply.code(406).send()
    const asked = new Query(request.url).text('hash')
    reply.header('content-type', form === 'json' ? json : protobufV3)
    if (asked && asked !== hash) {
      reply.header('etag', `"${hash}"`)
      return reply.code(301).header('location', `/openapi/v3/${name}?hash=${hash}`).send()
    }
    // Under its hash a document never changes.
    if (asked) {
      const nextYear = new Date(request.kube.now)
      nextYear.setUTCFullYear(nextYear.getUTCFullYear() + 1)
      // Upstream names the zone of its clock.
      const expires = nextYear.toUTCString().replace('GMT', 'UTC')
      reply.header('cache-control', 'public, immutable').header('expires', expires)
    }
    const document = form === 'json' ? documents.v3(name, hash) : documents.v3Protobuf(name, hash)
    return sendDocument(request, reply, await document, { packs: false })
  })
  return { has: (name) => documents.has(name) }
}
