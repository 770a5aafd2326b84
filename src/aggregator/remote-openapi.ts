/**
 * The OpenAPI v2 documents of the servers behind APIServices. They are read when somebody asks for the document of all, and
 * not again for a while; upstream reads them all the time.
 */
import { createHash } from 'node:crypto'
import { isJsonObject } from '#json/object.js'
import { formatYaml } from '#json/yaml.js'
import { limits } from '#limits'
import type { RemoteDocument } from '#routes/discovery/remote-versions.js'
import { withPaths } from '#routes/openapi/merge.js'
import { type APIService, pathOf } from './api-service.js'
import type { Backends } from './backends.js'

interface Reading {
  readonly at: number
  /** Undefined for a server that has no document, or cannot be reached. */
  readonly document: Promise<RemoteDocument | undefined>
}

const reader = { name: 'system:aggregator', groups: [] }

/** The more important first, as upstream sorts them. */
const byPriority = (a: APIService, b: APIService): number =>
  (a.spec.group === b.spec.group
    ? b.spec.versionPriority - a.spec.versionPriority
    : b.spec.groupPriorityMinimum - a.spec.groupPriorityMinimum) ||
  (a.metadata.name < b.metadata.name ? -1 : 1)

export class RemoteOpenApi {
  readonly #backends: Backends
  readonly #readings = new Map<string, Reading>()

  constructor(backends: Backends) {
    this.#backends = backends
  }

  async documentsOf(services: readonly APIService[], now: number): Promise<RemoteDocument[]> {
    const names = new Set(services.map(({ metadata }) => metadata.name))
    for (const name of this.#readings.keys()) if (!names.has(name)) this.#readings.delete(name)
    const read = services.toSorted(byPriority).map((service) => this.#documentOf(service, now))
    return (await Promise.all(read)).filter((document) => document !== undefined)
  }

  #documentOf(service: APIService, now: number): Promise<RemoteDocument | undefined> {
    const { name } = service.metadata
    const known = this.#readings.get(name)
    const age = now - (known?.at ?? 0)
    if (known !== undefined && age >= 0 && age < limits.aggregatedDiscoveryIntervalMs)
      return known.document
    const document = this.#read(service, known).catch(() => undefined)
    this.#readings.set(name, { at: now, document })
    return document
  }

  async #read(
    service: APIService,
    known: Reading | undefined,
  ): Promise<RemoteDocument | undefined> {
    const before = await known?.document
    const destination = await this.#backends.destination(service, '/openapi/v2')
    const answer = await this.#backends.fetch(destination, {
      user: reader,
      accept: 'application/json',
      ...(before === undefined ? {} : { etag: before.etag }),
    })
    if (answer.code === 304) return before
    const document = answer.code === 200 ? JSON.parse(answer.text) : undefined
    if (!isJsonObject(document)) return undefined
    const etag = answer.etag ?? createHash('sha512').update(answer.text).digest('hex')
    const root = `${pathOf(service)}/`
    const own = withPaths(document, (path) => path.startsWith(root))
    // What has no form in protobuf, in which kubectl asks for the document of all, is left out of it.
    const { encodeOpenApiV2 } = await import('#openapi/openapi-v2-protobuf.js')
    encodeOpenApiV2(own, formatYaml)
    return { etag, document: own }
  }
}
