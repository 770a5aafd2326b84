/** Objects over HTTP: the verbs of the API, typed, for our own processes and tests. */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '#api/errors.js'
import type { ListMeta, ObjectMeta, PersistedObject } from '#api/object.js'
import type { Status } from '#api/status.js'
import { type MetricFamily, MetricNumber } from '#metrics/metric-family.js'
import { linesOf } from '#net/lines.js'
import { errorFromAnswer } from './errors.js'
import { readJson, writeJson } from './exact-json.js'
import type { ClientConfig } from './kubeconfig.js'
import { apiVersionOf, type ResourceRef, resourcePath } from './resources.js'
import { createTransport, type Transport } from './transport.js'

interface ObjectAt {
  namespace?: string
  name: string
}
export interface ListOptions {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  limit?: number
  continue?: string
  resourceVersion?: string
  /** Answers with PartialObjectMetadata: a tenth of the bytes. */
  metadataOnly?: boolean
  signal?: AbortSignal
}
export interface WatchOptions extends ListOptions {
  allowWatchBookmarks?: boolean
  timeoutSeconds?: number
  signal: AbortSignal
  /** Called when the server has accepted the watch: changes from now on will be sent. */
  onOpen?(): void
}
export interface ObjectList<T> {
  kind: string
  apiVersion: string
  metadata: ListMeta
  items: T[]
}
interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  object: T
}
interface ErrorEvent {
  type: 'ERROR'
  object: Status
}
export interface DeleteRequestOptions {
  gracePeriodSeconds?: number
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  preconditions?: { uid?: string; resourceVersion?: string }
}
type PatchType = 'merge' | 'json' | 'strategic' | 'apply'
interface PatchOptions {
  type: PatchType
  subresource?: string
  fieldManager?: string
  force?: boolean
}
export interface RawRequest {
  method: string
  path: string
  query?: Record<string, string | number | boolean | undefined>
  body?: unknown
  contentType?: string
  accept?: string
  signal?: AbortSignal
  /** A watch or a stream. */
  longRunning?: boolean
}

const patchTypes: Record<PatchType, string> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}
const partial = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const partialList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

const withQuery = (path: string, query: RawRequest['query'] = {}): string => {
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query))
    if (value !== undefined) parameters.set(key, String(value))
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}

const readText = async (message: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

const selectionQuery = (o: ListOptions) => ({
  labelSelector: o.labelSelector,
  fieldSelector: o.fieldSelector,
  limit: o.limit,
  continue: o.continue,
  resourceVersion: o.resourceVersion,
})

/** Each line of a stream, parsed. */
async function* readLines<T>(message: IncomingMessage): AsyncGenerator<T> {
  for await (const line of linesOf(message)) if (line.trim() !== '') yield readJson(line) as T
}

const requestCounter = (): MetricNumber =>
  new MetricNumber(
    'counter',
    'rest_client_requests_total',
    '[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.',
    { hasLabels: true },
  )

export class Client {
  readonly #transport: Transport
  readonly #userAgent: string
  readonly config: ClientConfig
  readonly #requests: MetricNumber
  readonly #host: string

  constructor(
    config: ClientConfig,
    userAgent: string,
    { transport = createTransport(config), requests = requestCounter() } = {},
  ) {
    this.config = config
    this.#transport = transport
    this.#userAgent = userAgent
    this.#requests = requests
    this.#host = new URL(config.server).host
  }

  /** Acts as somebody else, whom `transport` tells; its requests are counted with this client's. */
  as(user: string, transport: Transport): Client {
    const shared = { transport, requests: this.#requests }
    return new Client(this.config, `${this.#userAgent}/${user}`, shared)
  }

  /** What client-go counts. */
  get metrics(): readonly MetricFamily[] {
    return [this.#requests]
  }

  close(): void {
    this.#transport.close()
  }

  /** The head of a successful answer with its body unread; anything else is thrown as ApiError. */
  async stream(request: RawRequest): Promise<IncomingMessage> {
    const { method } = request
    const count = (code: string): void => this.#requests.add({ code, host: this.#host, method })
    const message = await this.#transport
      .send({
        method,
        path: withQuery(request.path, request.query),
        headers: {
          accept: request.accept ?? 'application/json',
          'user-agent': this.#userAgent,
          ...(request.body === undefined
            ? {}
            : { 'content-type': request.contentType ?? 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: writeJson(request.body) }),
        ...(request.signal ? { signal: request.signal } : {}),
        ...(request.longRunning ? { longRunning: true } : {}),
      })
      .catch((error) => {
        count('<error>')
        throw error
      })
    const code = message.statusCode ?? 0
    count(String(code))
    if (code >= 200 && code < 300) return message
    throw errorFromAnswer(code, await readText(message))
  }

  async text(request: RawRequest): Promise<string> {
    return readText(await this.stream(request))
  }

  async request<T>(request: RawRequest): Promise<T> {
    return readJson(await this.text(request)) as T
  }

  get<T = PersistedObject>(
    ref: ResourceRef,
    at: ObjectAt,
    options: { metadataOnly?: boolean; subresource?: string } = {},
  ): Promise<T> {
    return this.request({
      method: 'GET',
      path: resourcePath(ref, { ...at, ...options }),
      ...(options.metadataOnly ? { accept: `${partial},application/json` } : {}),
    })
  }

  async list<T = PersistedObject>(
    ref: ResourceRef,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    const list = await this.request<ObjectList<T>>({
      method: 'GET',
      path: resourcePath(ref, options),
      query: selectionQuery(options),
      ...(options.metadataOnly ? { accept: `${partialList},application/json` } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
    })
    // An empty list of Go's may be null.
    return { ...list, items: list.items ?? [] }
  }

  /** Ends when the server ends it; throws ApiError for an ERROR event (410 among them). */
  async *watch<T = PersistedObject>(
    ref: ResourceRef,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const message = await this.stream({
      method: 'GET',
      path: resourcePath(ref, options),
      query: {
        ...selectionQuery(options),
        watch: true,
        allowWatchBookmarks: options.allowWatchBookmarks,
        timeoutSeconds: options.timeoutSeconds,
      },
      signal: options.signal,
      longRunning: true,
      ...(options.metadataOnly ? { accept: `${partial},application/json` } : {}),
    })
    options.onOpen?.()
    for await (const event of readLines<WatchEvent<T> | ErrorEvent>(message)) {
      if (event.type === 'ERROR') throw new ApiError(event.object)
      yield event
    }
  }

  /** The lines of a stream of JSON, as they come. */
  async *lines<T>(request: Omit<RawRequest, 'longRunning'>): AsyncGenerator<T> {
    yield* readLines<T>(await this.stream({ ...request, longRunning: true }))
  }

  /** Posts to the resource of `at`, or to `name`'s subresource. */
  create<T = PersistedObject>(
    ref: ResourceRef,
    object: { metadata?: ObjectMeta; [field: string]: unknown },
    options: { name?: string; subresource?: string; namespace?: string } = {},
  ): Promise<T> {
    const namespace = options.namespace ?? object.metadata?.namespace
    return this.request({
      method: 'POST',
      path: resourcePath(ref, { ...options, ...(namespace ? { namespace } : {}) }),
      body: { apiVersion: apiVersionOf(ref), kind: ref.kind, ...object },
    })
  }

  /** A PUT; with the resourceVersion in `object` it refuses to overwrite another's write. */
  update<T extends { metadata: { name: string; namespace?: string } }>(
    ref: ResourceRef,
    object: T,
    options: { subresource?: string } = {},
  ): Promise<T> {
    const { name, namespace } = object.metadata
    return this.request({
      method: 'PUT',
      path: resourcePath(ref, {
        name,
        ...(namespace ? { namespace } : {}),
        ...options,
      }),
      body: { apiVersion: apiVersionOf(ref), kind: ref.kind, ...object },
    })
  }

  patch<T = PersistedObject>(
    ref: ResourceRef,
    at: ObjectAt,
    patch: unknown,
    options: PatchOptions,
  ): Promise<T> {
    return this.request({
      method: 'PATCH',
      path: resourcePath(ref, {
        ...at,
        ...(options.subresource ? { subresource: options.subresource } : {}),
      }),
      query: { fieldManager: options.fieldManager, force: options.force },
      body: patch,
      contentType: patchTypes[options.type],
    })
  }

  /** Answers with the object that stays, or with what the server sends for one that is gone. */
  delete(
    ref: ResourceRef,
    at: ObjectAt,
    options: DeleteRequestOptions = {},
  ): Promise<PersistedObject> {
    return this.request({
      method: 'DELETE',
      path: resourcePath(ref, at),
      body: { kind: 'DeleteOptions', apiVersion: 'v1', ...options },
    })
  }

  deleteCollection(
    ref: ResourceRef,
    selection: ListOptions,
    options: DeleteRequestOptions = {},
  ): Promise<ObjectList<PersistedObject>> {
    return this.request({
      method: 'DELETE',
      path: resourcePath(ref, selection),
      query: selectionQuery(selection),
      body: { kind: 'DeleteOptions', apiVersion: 'v1', ...options },
    })
  }
}

/** `userAgent` is also the field manager of what is written: its part before the first slash. */
export const createClient = (config: ClientConfig, userAgent = 'kubelevel'): Client =>
  new Client(config, userAgent)
