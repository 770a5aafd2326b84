/** /api, /apis and what is below them down to a group version: which resources there are. */

import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { methodNotAllowed, pathNotFound } from '#api/errors.js'
import type { JsonObject } from '#json/value.js'
import { hostInUrl } from '#net/host-in-url.js'
import { formatYaml } from '#registry/encode/yaml.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import {
  asksForKind,
  type Clause,
  checkContentType,
  fitsRoute,
  notAcceptable as notAcceptableRoute,
  parseAccept,
} from '../answers/accept.js'
import { fitsStream, mediaTypes, notAcceptable } from '../answers/negotiation.js'
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

type Form = 'json' | 'yaml' | 'protobuf'
const contentTypes: Readonly<Record<Form, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

const formOf = (type: string): Form | undefined => {
  if (['*/*', 'application/*', 'application/json'].includes(type)) return 'json'
  if (type === 'application/yaml') return 'yaml'
  return type === 'application/vnd.kubernetes.protobuf' ? 'protobuf' : undefined
}

const aggregatedAs = 'APIGroupDiscoveryList'

const isAggregated = ({ parameters }: Clause): boolean =>
  parameters.get('as') === aggregatedAs &&
  parameters.get('g') === 'apidiscovery.k8s.io' &&
  parameters.get('v') === 'v2'

const isPlain = (clause: Clause): boolean => !asksForKind(clause)

/** A clause that asks for a form by server version (`sv`) never fits. */
const fits = (clause: Clause, form: Form): boolean =>
  !clause.parameters.get('sv') && fitsStream(clause, contentTypes[form])

/** The form of the first clause of the Accept header that is `wanted`. */
const negotiate = (
  request: FastifyRequest,
  wanted: (clause: Clause) => boolean = isPlain,
): Form | undefined => {
  for (const clause of parseAccept(request.headers.accept)) {
    const form = formOf(clause.type)
    if (form !== undefined && wanted(clause) && fits(clause, form)) return form
  }
  return undefined
}

const send = async (
  reply: FastifyReply,
  form: Form,
  document: JsonObject,
): Promise<FastifyReply> => {
  reply.request.kube.audit?.answeredWith(document)
  reply.header('content-type', contentTypes[form])
  if (form === 'protobuf') return reply.send(metaInProtobuf(document))
  if (form === 'json') return reply.send(jsonFor(reply.request, document))
  return reply.send(Buffer.from(formatYaml(document)))
}

interface Aggregated {
  readonly document: JsonObject
  readonly bytes: Buffer
  readonly etag: string
}

const bytesOf = ({ document, bytes }: Aggregated, form: Form): Buffer => {
  if (form === 'json') return bytes
  return form === 'yaml' ? Buffer.from(formatYaml(document)) : inProtobuf(document)
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
  { found, form }: { found: Aggregated; form: Form },
): FastifyReply => {
  const { etag } = found
  reply.header('etag', etag).header('vary', 'Accept').header('cache-control', 'public')
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  request.kube.audit?.answeredWith(found.document)
  return reply
    .header('content-type', `${contentTypes[form]};g=apidiscovery.k8s.io;v=v2;as=${aggregatedAs}`)
    .send(bytesOf(found, form))
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
  if (!fitsRoute(request.headers.accept, mediaTypes)) throw notAcceptableRoute(mediaTypes)
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

const sendPlain = (
  request: FastifyRequest,
  reply: FastifyReply,
  document: JsonObject,
): Promise<FastifyReply> => {
  const form = negotiate(request)
  if (form === undefined) throw notAcceptable(mediaTypes)
  return send(reply, form, document)
}

/** /api or /apis: the aggregated document wherever the header asks for it, even behind others; else `plain`. */
const rootOf =
  (documents: Documents, name: 'api' | 'apis', plain: (r: FastifyRequest) => JsonObject): Handler =>
  async (request, reply) => {
    if (name === 'api') checkRoute(request)
    const form = negotiate(request, isAggregated)
    if (form === undefined) return sendPlain(request, reply, plain(request))
    return sendAggregated(request, reply, { found: documents.aggregated(name), form })
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
