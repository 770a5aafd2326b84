/** /api, /apis and what is below them down to a group version: which resources there are. */

import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  type Clause,
  checkContentType,
  fitsRoute,
  namesType,
  noneAccepted,
  notAcceptable,
  parseAccept,
} from '#api/accept.js'
import { methodNotAllowed, pathNotFound } from '#api/errors.js'
import type { JsonObject } from '#json/value.js'
import { formatYaml } from '#json/yaml.js'
import { hostInUrl } from '#net/host-in-url.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import {
  fitsStream,
  type MediaType,
  mediaTypes,
  type Negotiated,
  negotiatePlain,
  protobuf,
} from '../answers/negotiation.js'
import { inProtobuf, metaInProtobuf } from '../answers/protobuf.js'
import { jsonFor } from '../answers/respond.js'
import { sendNotFound } from '../not-found.js'
import {
  aggregatedList,
  coreVersions,
  type GroupVersions,
  groupDocument,
  groupList,
  groupRows,
  resourceList,
} from './documents.js'
import type { RemoteSource } from './remote-versions.js'

/** The resource table, as far as discovery needs it. */
export interface DiscoverySource extends Iterable<ResourceDefinition> {
  onChange(listener: () => void): () => void
}

const aggregatedAs = 'APIGroupDiscoveryList'

const isAggregated = ({ parameters }: Clause): boolean =>
  parameters.get('as') === aggregatedAs &&
  parameters.get('g') === 'apidiscovery.k8s.io' &&
  parameters.get('v') === 'v2'

/** A clause that asks for a form by server version (`sv`) never fits. */
const fits = (clause: Clause, mediaType: MediaType): boolean =>
  !clause.parameters.has('sv') && fitsStream(clause, mediaType)

/** The form of the first clause of the Accept header that asks for the aggregated document. */
const negotiateAggregated = ({ headers }: FastifyRequest): MediaType | undefined => {
  for (const clause of parseAccept(headers.accept)) {
    const mediaType = mediaTypes.find((type) => namesType(clause, type))
    if (mediaType !== undefined && isAggregated(clause) && fits(clause, mediaType)) return mediaType
  }
  return undefined
}

const bytesOfPlain = (
  request: FastifyRequest,
  negotiated: Negotiated,
  document: JsonObject,
): Buffer => {
  if (negotiated.mediaType === protobuf) return metaInProtobuf(document)
  if (negotiated.mediaType === 'application/yaml') return Buffer.from(formatYaml(document))
  return jsonFor(request, document, negotiated)
}

interface Aggregated {
  readonly document: JsonObject
  readonly bytes: Buffer
  readonly etag: string
}

const bytesOf = ({ document, bytes }: Aggregated, mediaType: MediaType): Buffer => {
  if (mediaType === 'application/json') return bytes
  return mediaType === protobuf ? inProtobuf(document) : Buffer.from(formatYaml(document))
}

/** Documents derived from the rows: made at first use, dropped when a row comes or goes. */
class Documents {
  readonly #source: DiscoverySource
  readonly #remote: RemoteSource
  #groups: readonly GroupVersions[] | undefined
  readonly #aggregated = new Map<'api' | 'apis', Aggregated>()

  constructor(source: DiscoverySource, remote: RemoteSource) {
    this.#source = source
    this.#remote = remote
    const forget = (): void => {
      this.#groups = undefined
      this.#aggregated.clear()
    }
    source.onChange(forget)
    remote.onChange(forget)
  }
  get groups(): readonly GroupVersions[] {
    this.#groups ??= groupRows(this.#source, this.#remote.versions())
    return this.#groups
  }
  named(group: string): GroupVersions | undefined {
    return this.groups.find((g) => g.group === group)
  }
  aggregated(root: 'api' | 'apis'): Aggregated {
    const made = this.#aggregated.get(root)
    if (made !== undefined) return made
    const groups = this.groups.filter(({ group }) => (group === '') === (root === 'api'))
    const list = aggregatedList(groups)
    const bytes = Buffer.from(`${JSON.stringify(list)}\n`)
    const etag = `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"`
    const document = { document: list, bytes, etag }
    this.#aggregated.set(root, document)
    return document
  }
}

const sendAggregated = (
  request: FastifyRequest,
  reply: FastifyReply,
  { found, mediaType }: { found: Aggregated; mediaType: MediaType },
): FastifyReply => {
  const { etag } = found
  reply.header('etag', etag).header('vary', 'Accept').header('cache-control', 'public')
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  request.kube.audit?.answeredWith(found.document)
  return reply
    .header('content-type', `${mediaType};g=apidiscovery.k8s.io;v=v2;as=${aggregatedAs}`)
    .send(bytesOf(found, mediaType))
}

/** The group of APIServices themselves. */
const aggregatorGroup = 'apiregistration.k8s.io'

type Params = { group: string; version: string }

/**
 * The documents of go-restful's routes answer GET alone, and their media types are looked at first without parameters.
 * Those of plain handlers (/apis, a group, whatever is custom) answer every method alike.
 */
const checkRoute = (request: FastifyRequest): void => {
  if (request.method !== 'GET') throw methodNotAllowed()
  checkContentType(request.bodyType, mediaTypes)
  if (!fitsRoute(request.headers.accept, mediaTypes)) throw notAcceptable(mediaTypes)
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const sendPlain = async (
  request: FastifyRequest,
  reply: FastifyReply,
  document: JsonObject,
): Promise<FastifyReply> => {
  const negotiated = negotiatePlain(request.headers.accept)
  if (negotiated === undefined) throw noneAccepted(mediaTypes)
  request.kube.audit?.answeredWith(document)
  reply.header('content-type', negotiated.mediaType)
  return reply.send(bytesOfPlain(request, negotiated, document))
}

/** /api or /apis: the aggregated document wherever the header asks for it, even behind others; else `plain`. */
const rootOf =
  (documents: Documents, name: 'api' | 'apis', plain: (r: FastifyRequest) => JsonObject): Handler =>
  async (request, reply) => {
    if (name === 'api') checkRoute(request)
    const mediaType = negotiateAggregated(request)
    if (mediaType === undefined) return sendPlain(request, reply, plain(request))
    return sendAggregated(request, reply, { found: documents.aggregated(name), mediaType })
  }

const groupOf =
  (documents: Documents): Handler =>
  async (request, reply) => {
    const found = documents.named((request.params as Params).group)
    if (found === undefined || found.group === '') return sendNotFound(reply)
    // The aggregator has a handler for every group but its own.
    if (found.group === aggregatorGroup) checkRoute(request)
    return sendPlain(request, reply, groupDocument(found))
  }

const versionOf =
  (documents: Documents): Handler =>
  async (request, reply) => {
    const { group = '', version } = request.params as Params
    const found = documents.named(group)
    if (found === undefined) return sendNotFound(reply)
    const rows = found.versions.find((v) => v.version === version)?.rows ?? []
    if (rows.length === 0) {
      // Upstream has no route for an unknown version of a custom group (text); one of a built-in group gets a Status.
      if (found.versions.every((v) => v.rows.every((row) => row.isCustom)))
        return sendNotFound(reply)
      throw pathNotFound()
    }
    if (rows.some((row) => !row.isCustom)) checkRoute(request)
    return sendPlain(request, reply, resourceList({ group, version }, rows))
  }

export const installDiscovery = (
  app: FastifyInstance,
  source: DiscoverySource,
  remote: RemoteSource,
  addressOf: (request: FastifyRequest) => string = localAddressOf,
): void => {
  const documents = new Documents(source, remote)
  const namedGroups = () => documents.groups.filter(({ group }) => group !== '')
  const groups = () => groupList(namedGroups())
  const core = rootOf(documents, 'api', (request) => coreVersions(addressOf(request)))
  const roots: Readonly<Record<string, Handler>> = {
    '/api': core,
    '/api/': core,
    '/apis': rootOf(documents, 'apis', groups),
    // Upstream aggregates at the path without a slash alone.
    '/apis/': async (request, reply) => sendPlain(request, reply, groups()),
  }
  const routes: Readonly<Record<string, Handler>> = {
    '/api/:version': versionOf(documents),
    '/apis/:group': groupOf(documents),
    '/apis/:group/:version': versionOf(documents),
  }
  // No group is without a name here; the core group is at /api.
  app.all('/apis//*', (_request, reply) => sendNotFound(reply))
  for (const [url, handler] of Object.entries(roots)) app.all(url, handler)
  for (const [url, handler] of Object.entries(routes)) {
    app.all(url, handler)
    app.all(`${url}/`, handler)
  }
}

/** The address that this request came to. */
const localAddressOf = (request: FastifyRequest): string => {
  const { localAddress = '127.0.0.1', localPort = 0 } = request.raw.socket
  return `${hostInUrl(localAddress)}:${localPort}`
}
