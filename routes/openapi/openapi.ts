/** /openapi/v2 and /openapi/v3: documents made when they are first asked for, and again after the table changed. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addToList } from '#collections/add-to-list.js'
import { write } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { discoveryOperations } from '#openapi/discovery-operations.js'
import { type Operation, resourceOperations } from '#openapi/operations.js'
import { formatYaml } from '#registry/encode/yaml.js'
import { Query } from '#registry/query.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { parseAccept } from '../answers/accept.js'
import { serveContent } from '../answers/serve-content.js'
import type { DiscoverySource } from '../discovery/discovery.js'
import type { RemoteDocument, RemoteSource } from '../discovery/remote-versions.js'
import { mergeDocuments } from './merge.js'
import { schemaNameOf } from './schema-name.js'
import { schemaClosure } from './schemas.js'

const compress = promisify(gzip)

const json = 'application/json'
// The form with an @ is no valid media type: old clients ask for it, and nothing is sent under it.
const protobufV2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
const formerProtobufV2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

const protobufV3 = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf'
const formerProtobufV3 = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf'

interface Document {
  readonly bytes: Buffer
  readonly etag: string
  readonly contentType: string
  packed?: Buffer
  /** When it was first asked for, in milliseconds: that is when it was made. */
  modifiedAt?: number
}

interface OpenApiOptions {
  readonly source: DiscoverySource
  readonly remote: RemoteSource
  /** Distinguishes documents of different builds in their hash. */
  readonly build: string
  /** Adds documentation to a schema, where there is any. */
  readonly describe?: (name: string, schema: JsonObject) => JsonObject
}

const hashOf = (...parts: readonly string[]): string =>
  createHash('sha512').update(parts.join('\0')).digest('hex').toUpperCase()

/** The document that a path belongs to: `/apis/apps/v1/…` → `apis/apps/v1`, `/version/` → `version`. */
const documentOf = (path: string): string => {
  const parts = path.split('/').filter((part) => part !== '')
  if (parts[0] === 'api') return parts.slice(0, 2).join('/')
  return parts[0] === 'apis' ? parts.slice(0, 3).join('/') : parts.join('/')
}

class Documents {
  readonly #options: OpenApiOptions
  #rows: readonly ResourceDefinition[] | undefined
  #operations: Map<string, Operation[]> | undefined
  readonly #hashes = new Map<string, string>()
  readonly #made = new Map<string, { hash: string; document: Promise<Document> }>()

  constructor(options: OpenApiOptions) {
    this.#options = options
    options.source.onChange(() => {
      this.#rows = undefined
      this.#operations = undefined
      this.#hashes.clear()
    })
  }

  get #table(): readonly ResourceDefinition[] {
    this.#rows ??= [...this.#options.source]
    return this.#rows
  }

  /** Operations by document. */
  get operations(): ReadonlyMap<string, readonly Operation[]> {
    if (this.#operations === undefined) {
      const builtIn = this.#table.filter((row) => !row.isCustom).map(({ gvr }) => gvr)
      const versions = new Map(builtIn.map((gvr) => [`${gvr.group}/${gvr.version}`, gvr]))
      const byDocument = new Map<string, Operation[]>()
      const all = [
        ...discoveryOperations([...versions.values()]),
        ...this.#table.flatMap((row) => resourceOperations(row, schemaNameOf)),
      ]
      for (const operation of all) {
        const name = documentOf(operation.path)
        addToList(byDocument, name, operation)
      }
      this.#operations = byDocument
    }
    return this.#operations
  }

  /**
   * A hash of the sources, so that the index does not need the documents. It is kept until the table changes: each command
   * of kubectl reads the index, and schemas are large.
   */
  hash(name: string): string | undefined {
    const operations = this.operations.get(name)
    if (operations === undefined) return undefined
    let hash = this.#hashes.get(name)
    if (hash === undefined) {
      const schemas = this.#customRows(operations).map((row) => row.structuralSchema ?? {})
      hash = hashOf(this.#options.build, JSON.stringify(operations), write(schemas))
      this.#hashes.set(name, hash)
    }
    return hash
  }

  #customRows(operations: readonly Operation[]): ResourceDefinition[] {
    return this.#table.filter(
      (row) => row.isCustom && operations.some((o) => o.gvk?.group === row.gvk.group),
    )
  }

  v3(name: string, hash: string): Promise<Document> {
    return this.#cached(`v3/${name}`, hash, () =>
      this.#make('v3', this.operations.get(name)!, hash),
    )
  }

  v3Protobuf(name: string, hash: string): Promise<Document> {
    return this.#cached(`v3 protobuf/${name}`, hash, async () => {
      const { bytes, etag } = await this.v3(name, hash)
      const { encodeOpenApiV3 } = await import('#openapi/openapi-v3-protobuf.js')
      const encoded = encodeOpenApiV3(JSON.parse(bytes.toString()), formatYaml)
      return { bytes: encoded, etag, contentType: protobufV3 }
    })
  }

  v2(remotes: readonly RemoteDocument[]): Promise<Document> {
    const hash = this.#v2Hash(remotes)
    return this.#cached('v2', hash, () => {
      const operations = [...this.operations.values()].flat()
      return this.#make('v2', operations, hash, remotes)
    })
  }

  /** The same document as the bytes of openapi.v2.Document, under the same ETag. */
  v2Protobuf(remotes: readonly RemoteDocument[]): Promise<Document> {
    const hash = this.#v2Hash(remotes)
    return this.#cached('v2 protobuf', hash, async () => {
      const { bytes, etag } = await this.v2(remotes)
      const { encodeOpenApiV2 } = await import('#openapi/openapi-v2-protobuf.js')
      const encoded = encodeOpenApiV2(JSON.parse(bytes.toString()), formatYaml)
      return { bytes: encoded, etag, contentType: protobufV2 }
    })
  }

  #v2Hash(remotes: readonly RemoteDocument[]): string {
    const own = [...this.operations.keys()].map((name) => this.hash(name)!)
    return hashOf('v2', ...own, ...remotes.map(({ etag }) => etag))
  }

  #cached(key: string, hash: string, make: () => Promise<Document>): Promise<Document> {
    const made = this.#made.get(key)
    if (made?.hash === hash) return made.document
    const document = make()
    this.#made.set(key, { hash, document })
    // A failure is not kept: the next request tries again.
    document.catch(() => this.#made.delete(key))
    return document
  }

  async #make(
    version: 'v2' | 'v3',
    operations: readonly Operation[],
    hash: string,
    remotes: readonly RemoteDocument[] = [],
  ): Promise<Document> {
    const { makeDocument } = await import('./document.js')
    const own = await makeDocument({
      version,
      operations,
      isCustom: this.#customRows(operations).length > 0,
      schemasOf: (names) => schemaClosure(names, this.#table, version, this.#options.describe),
    })
    const document = mergeDocuments(
      own,
      remotes.map((remote) => remote.document),
    )
    const bytes = Buffer.from(write(document))
    return { bytes, etag: `"${hash}"`, contentType: json }
  }
}

/** The first form that the client names; JSON where any will do. */
const acceptedForm = (
  request: FastifyRequest,
  protobuf: readonly string[] = [],
): 'json' | 'protobuf' | undefined => {
  for (const { type } of parseAccept(request.headers.accept)) {
    if (['*/*', 'application/*', json].includes(type)) return 'json'
    if (protobuf.includes(type)) return 'protobuf'
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

export const installOpenApi = (app: FastifyInstance, options: OpenApiOptions): OwnDocuments => {
  const documents = new Documents(options)

  app.all('/openapi/v2', async (request, reply) => {
    const form = acceptedForm(request, [protobufV2, formerProtobufV2])
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
      ...[...documents.operations.keys()].map((name): [string, string] => [
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
    const form = acceptedForm(request, [protobufV3, formerProtobufV3])
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
  return { has: (name) => documents.operations.has(name) }
}
