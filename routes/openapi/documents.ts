/**
 * The OpenAPI documents of a server, made when they are first asked for. Each resource adds a part, which is kept as long as
 * the resource stays what it is: where there are hundreds of custom ones, a change of one of them makes one part again.
 */
import { createHash } from 'node:crypto'
import { addToList } from '#collections/add-to-list.js'
import { write } from '#json/json.js'
import { formatYaml } from '#json/yaml.js'
import { limits } from '#limits'
import { discoveryOperations } from '#openapi/discovery-operations.js'
import { type Operation, resourceOperations } from '#openapi/operations.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import type { DiscoverySource } from '../discovery/discovery.js'
import type { RemoteDocument } from '../discovery/remote-versions.js'
import type { Describe, OpenApiVersion } from './custom-schemas.js'
import { documentOf } from './document.js'
import { mergeDocuments } from './merge.js'
import type { DocumentPart } from './part.js'
import { schemaNameOf } from './schema-name.js'
import { type WrittenSchema, WrittenSchemas } from './written-schemas.js'

export const json = 'application/json'
export const protobufV2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
export const protobufV3 = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf'

export interface Document {
  readonly bytes: Buffer
  readonly etag: string
  readonly contentType: string
  packed?: Buffer
  /** When it was first asked for, in milliseconds: that is when it was made. */
  modifiedAt?: number
}

export interface DocumentSources {
  readonly source: DiscoverySource
  /** Distinguishes documents of different builds in their hash. */
  readonly build: string
  /** Adds documentation to a schema, where there is any. */
  readonly describe?: Describe
}

const hashOf = (...parts: readonly string[]): string =>
  createHash('sha512').update(parts.join('\0')).digest('hex').toUpperCase()

/** The document that a path belongs to: `/apis/apps/v1/…` → `apis/apps/v1`, `/version/` → `version`. */
const nameOfPath = (path: string): string => {
  const parts = path.split('/').filter((part) => part !== '')
  if (parts[0] === 'api') return parts.slice(0, 2).join('/')
  return parts[0] === 'apis' ? parts.slice(0, 3).join('/') : parts.join('/')
}

/** What adds to one document: a resource, or what discovery answers there. */
class Contributor {
  readonly row: ResourceDefinition | undefined
  readonly operations: readonly Operation[]
  /** Of all that its parts are made of. */
  readonly hash: string
  readonly parts: { [version in OpenApiVersion]?: DocumentPart } = {}
  readonly #schemas: { [version in OpenApiVersion]?: [string, WrittenSchema][] } = {}

  constructor(operations: readonly Operation[], row?: ResourceDefinition) {
    this.row = row
    this.operations = operations
    const custom = row?.isCustom ? [row.structuralSchema ?? {}, row.selectableFields ?? {}] : []
    this.hash = hashOf(JSON.stringify(operations), write(custom))
  }

  /** Those of a custom resource. */
  schemas(version: OpenApiVersion, written: WrittenSchemas): [string, WrittenSchema][] {
    this.#schemas[version] ??= this.row?.isCustom ? written.ofRow(this.row) : []
    return this.#schemas[version]
  }
}

/** Some together, since each instance of Fastify takes its time; other requests go on between them. */
const makeMissing = async (
  version: OpenApiVersion,
  contributors: readonly Contributor[],
): Promise<void> => {
  const missing = contributors.filter(({ parts }) => parts[version] === undefined)
  if (missing.length === 0) return
  const { makeParts } = await import('./part.js')
  for (let from = 0; from < missing.length; from += limits.openApiPartsAtOnceMax) {
    const some = missing.slice(from, from + limits.openApiPartsAtOnceMax)
    const made = await makeParts(
      version,
      some.map(({ operations }) => operations),
    )
    for (const [i, one] of some.entries()) one.parts[version] = made[i]!
  }
}

export class Documents {
  readonly #options: DocumentSources
  readonly #schemas: Readonly<Record<OpenApiVersion, WrittenSchemas>>
  readonly #ofRow = new WeakMap<ResourceDefinition, Contributor>()
  #discovery: readonly Contributor[] | undefined
  #contributors: ReadonlyMap<string, readonly Contributor[]> | undefined
  readonly #hashes = new Map<string, string>()
  /** By their forms. Those of OpenAPI v2 have no name. */
  readonly #made = new Map<string, { name?: string; hash: string; document: Promise<Document> }>()

  constructor(options: DocumentSources) {
    const { source, describe } = options
    this.#options = options
    this.#schemas = {
      v2: new WrittenSchemas('v2', describe),
      v3: new WrittenSchemas('v3', describe),
    }
    source.onChange(() => {
      this.#contributors = undefined
      this.#hashes.clear()
    })
  }

  /** By the names of the documents, as the index of OpenAPI v3 has them. */
  get #byName(): ReadonlyMap<string, readonly Contributor[]> {
    if (this.#contributors !== undefined) return this.#contributors
    const rows = [...this.#options.source]
    this.#discovery ??= this.#discoveryOf(rows)
    const byName = new Map<string, Contributor[]>()
    for (const one of [...this.#discovery, ...rows.map((row) => this.#contributorOf(row))]) {
      const [first] = one.operations
      if (first !== undefined) addToList(byName, nameOfPath(first.path), one)
    }
    this.#contributors = byName
    this.#forgetGone(byName)
    return byName
  }

  /** Groups of custom resources may come and go without end. */
  #forgetGone(present: ReadonlyMap<string, unknown>): void {
    for (const [form, { name }] of this.#made)
      if (name !== undefined && !present.has(name)) this.#made.delete(form)
  }

  /** Of built-in versions, which stay what they are. */
  #discoveryOf(rows: readonly ResourceDefinition[]): Contributor[] {
    const builtIn = rows.filter((row) => !row.isCustom).map(({ gvr }) => gvr)
    const versions = new Map(builtIn.map((gvr) => [`${gvr.group}/${gvr.version}`, gvr]))
    const byName = new Map<string, Operation[]>()
    for (const operation of discoveryOperations([...versions.values()]))
      addToList(byName, nameOfPath(operation.path), operation)
    return [...byName.values()].map((operations) => new Contributor(operations))
  }

  #contributorOf(row: ResourceDefinition): Contributor {
    let contributor = this.#ofRow.get(row)
    if (contributor === undefined) {
      contributor = new Contributor(resourceOperations(row, schemaNameOf), row)
      this.#ofRow.set(row, contributor)
    }
    return contributor
  }

  get names(): Iterable<string> {
    return this.#byName.keys()
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  /** A hash of the sources, so that the index, which each command of kubectl reads, does not need the documents. */
  hash(name: string): string | undefined {
    const known = this.#hashes.get(name)
    if (known !== undefined) return known
    const contributors = this.#byName.get(name)
    if (contributors === undefined) return undefined
    const hash = hashOf(this.#options.build, ...contributors.map((one) => one.hash))
    this.#hashes.set(name, hash)
    return hash
  }

  v3(name: string, hash: string): Promise<Document> {
    return this.#cached({ form: `v3/${name}`, name, hash }, async () => {
      const text = await this.#write('v3', this.#byName.get(name)!)
      return { bytes: Buffer.from(text), etag: `"${hash}"`, contentType: json }
    })
  }

  v3Protobuf(name: string, hash: string): Promise<Document> {
    return this.#cached({ form: `v3 protobuf/${name}`, name, hash }, async () => {
      const { bytes, etag } = await this.v3(name, hash)
      const { encodeOpenApiV3 } = await import('#openapi/openapi-v3-protobuf.js')
      const encoded = encodeOpenApiV3(JSON.parse(bytes.toString()), formatYaml)
      return { bytes: encoded, etag, contentType: protobufV3 }
    })
  }

  v2(remotes: readonly RemoteDocument[]): Promise<Document> {
    const hash = this.#v2Hash(remotes)
    return this.#cached({ form: 'v2', hash }, async () => {
      const own = await this.#write('v2', [...this.#byName.values()].flat())
      const documents = remotes.map(({ document }) => document)
      const text = documents.length === 0 ? own : write(mergeDocuments(JSON.parse(own), documents))
      return { bytes: Buffer.from(text), etag: `"${hash}"`, contentType: json }
    })
  }

  /** The same document as the bytes of openapi.v2.Document, under the same ETag. */
  v2Protobuf(remotes: readonly RemoteDocument[]): Promise<Document> {
    const hash = this.#v2Hash(remotes)
    return this.#cached({ form: 'v2 protobuf', hash }, async () => {
      const { bytes, etag } = await this.v2(remotes)
      const { encodeOpenApiV2 } = await import('#openapi/openapi-v2-protobuf.js')
      const encoded = encodeOpenApiV2(JSON.parse(bytes.toString()), formatYaml)
      return { bytes: encoded, etag, contentType: protobufV2 }
    })
  }

  #v2Hash(remotes: readonly RemoteDocument[]): string {
    const own = [...this.#byName.keys()].map((name) => this.hash(name)!)
    return hashOf('v2', ...own, ...remotes.map(({ etag }) => etag))
  }

  #cached(
    { form, ...of }: { form: string; name?: string; hash: string },
    make: () => Promise<Document>,
  ): Promise<Document> {
    const made = this.#made.get(form)
    if (made?.hash === of.hash) return made.document
    const document = make()
    this.#made.set(form, { ...of, document })
    // A failure is not kept: the next request tries again.
    document.catch(() => this.#made.delete(form))
    return document
  }

  async #write(version: OpenApiVersion, contributors: readonly Contributor[]): Promise<string> {
    await makeMissing(version, contributors)
    const schemas = this.#schemas[version]
    return documentOf({
      version,
      parts: contributors.map(({ parts }) => parts[version]!),
      isCustom: contributors.some(({ row }) => row?.isCustom),
      schemas,
      custom: new Map(contributors.flatMap((one) => one.schemas(version, schemas))),
    })
  }
}
