/** The part of etcd's v3 gRPC API that the driver uses: field numbers as etcd publishes them, and the calls. */
import { readFileSync } from 'node:fs'
import {
  type ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  type ClientUnaryCall,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { limits } from '#limits'
import { StorageError } from '../driver.js'

type Field = readonly [type: string, id: number]

const repeated = (type: string, id: number) => ({ rule: 'repeated', type, id })
const message = (
  fields: Readonly<Record<string, Field | ReturnType<typeof repeated>>>,
  oneofs?: Record<string, string[]>,
) => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      'id' in field ? field : { type: field[0], id: field[1] },
    ]),
  ),
  ...(oneofs && {
    oneofs: Object.fromEntries(Object.entries(oneofs).map(([name, oneof]) => [name, { oneof }])),
  }),
})
const service = (calls: readonly string[], stream = false) => ({
  methods: Object.fromEntries(
    calls.map((name) => [
      name,
      {
        requestType: `${name}Request`,
        responseType: `${name}Response`,
        requestStream: stream,
        responseStream: stream,
      },
    ]),
  ),
})

const header: Field = ['ResponseHeader', 1]
const operations = {
  range: ['Range', 1],
  put: ['Put', 2],
  deleteRange: ['DeleteRange', 3],
} as const
const operationFields = (suffix: 'Request' | 'Response') =>
  Object.fromEntries(
    Object.entries(operations).map(([name, [type, id]]): [string, Field] => [
      `${suffix.toLowerCase()}_${name}`,
      [`${type}${suffix}`, id],
    ]),
  )
const oneOperation = (suffix: string) => ({
  operation: Object.keys(operations).map((name) => `${suffix}_${name}`),
})

const descriptor = {
  nested: {
    etcdserverpb: {
      nested: {
        KV: service(['Range', 'Txn', 'Put', 'Compact']),
        Watch: service(['Watch'], true),
        Lease: service(['LeaseGrant']),
        Maintenance: service(['Status', 'Alarm']),
        ResponseHeader: message({ revision: ['int64', 3] }),
        KeyValue: message({
          key: ['bytes', 1],
          create_revision: ['int64', 2],
          mod_revision: ['int64', 3],
          version: ['int64', 4],
          value: ['bytes', 5],
          lease: ['int64', 6],
        }),
        RangeRequest: message({
          key: ['bytes', 1],
          range_end: ['bytes', 2],
          limit: ['int64', 3],
          revision: ['int64', 4],
          count_only: ['bool', 9],
        }),
        RangeResponse: message({ header, kvs: repeated('KeyValue', 2), more: ['bool', 3] }),
        PutRequest: message({ key: ['bytes', 1], value: ['bytes', 2], lease: ['int64', 3] }),
        PutResponse: message({ header }),
        DeleteRangeRequest: message({ key: ['bytes', 1] }),
        DeleteRangeResponse: message({ header, deleted: ['int64', 2] }),
        RequestOp: message(operationFields('Request'), oneOperation('request')),
        ResponseOp: message(operationFields('Response'), oneOperation('response')),
        Compare: message(
          {
            result: ['int32', 1],
            target: ['int32', 2],
            key: ['bytes', 3],
            version: ['int64', 4],
            mod_revision: ['int64', 6],
          },
          { value: ['version', 'mod_revision'] },
        ),
        TxnRequest: message({
          compare: repeated('Compare', 1),
          success: repeated('RequestOp', 2),
          failure: repeated('RequestOp', 3),
        }),
        TxnResponse: message({
          header,
          succeeded: ['bool', 2],
          responses: repeated('ResponseOp', 3),
        }),
        CompactRequest: message({ revision: ['int64', 1] }),
        CompactResponse: message({ header }),
        WatchRequest: message(
          {
            create_request: ['WatchCreateRequest', 1],
            progress_request: ['WatchProgressRequest', 3],
          },
          { request: ['create_request', 'progress_request'] },
        ),
        WatchCreateRequest: message({
          key: ['bytes', 1],
          range_end: ['bytes', 2],
          start_revision: ['int64', 3],
          progress_notify: ['bool', 4],
          prev_kv: ['bool', 6],
        }),
        WatchProgressRequest: message({}),
        WatchResponse: message({
          header,
          created: ['bool', 3],
          canceled: ['bool', 4],
          compact_revision: ['int64', 5],
          cancel_reason: ['string', 6],
          events: repeated('Event', 11),
        }),
        Event: message({ type: ['int32', 1], kv: ['KeyValue', 2], prev_kv: ['KeyValue', 3] }),
        LeaseGrantRequest: message({ TTL: ['int64', 1], ID: ['int64', 2] }),
        LeaseGrantResponse: message({ header, ID: ['int64', 2], TTL: ['int64', 3] }),
        AlarmRequest: message({}),
        AlarmResponse: message({ header, alarms: repeated('AlarmMember', 2) }),
        AlarmMember: message({ memberID: ['uint64', 1], alarm: ['int32', 2] }),
        StatusRequest: message({}),
        StatusResponse: message({ header, version: ['string', 2], dbSize: ['int64', 3] }),
      },
    },
  },
}

/** Numbers that may not fit a double come as text: `Number` of a revision is exact, a lease ID stays text. */
export interface EtcdKeyValue {
  readonly key: Buffer
  readonly value: Buffer
  readonly mod_revision: string
  readonly create_revision: string
  readonly version: string
  readonly lease: string
}
export interface EtcdHeader {
  readonly header: { readonly revision: string }
}
export interface RangeResponse extends EtcdHeader {
  readonly kvs: readonly EtcdKeyValue[]
  readonly more: boolean
}
export interface TxnResponse extends EtcdHeader {
  readonly succeeded: boolean
  readonly responses: readonly { readonly response_range?: RangeResponse | null }[]
}
export interface WatchResponse extends EtcdHeader {
  readonly created: boolean
  readonly canceled: boolean
  readonly compact_revision: string
  readonly cancel_reason: string
  /** A type of 1 is a delete. */
  readonly events: readonly {
    readonly type: number
    readonly kv: EtcdKeyValue
    readonly prev_kv: EtcdKeyValue | null
  }[]
}
export interface AlarmResponse extends EtcdHeader {
  /** An alarm of 1 is NOSPACE, of 2 CORRUPT. */
  readonly alarms: readonly { readonly alarm: number }[]
}
export type WatchStream = ClientDuplexStream<object, WatchResponse>

export interface EtcdTls {
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
}

export interface CallOptions {
  readonly timeoutMs: number
  /** Asks again when the connection broke: right for what changes nothing. */
  readonly retries?: boolean
}

/**
 * As upstream's client: calls wait for a connection instead of failing, reads are asked again, and it is the caller's
 * deadline that ends both. So these are later than any deadline of a request.
 */
const behindMs = 2_000
export const readCall: CallOptions = {
  timeoutMs: limits.requestTimeoutMs + behindMs,
  retries: true,
}
export const writeCall: CallOptions = { timeoutMs: limits.writeTimeoutMs + behindMs }

const retryMinMs = 25
const retryMaxMs = 1_000

const loaded = () =>
  loadPackageDefinition(
    fromJSON(descriptor as never, { keepCase: true, longs: String, defaults: true }),
  ).etcdserverpb as unknown as Record<string, ServiceClientConstructor>

export class EtcdApi {
  readonly #clients: Record<string, Client>
  readonly #metadata = new Metadata({ waitForReady: true })
  #closed = false

  /** `servers`: `http://host:2379`, more than one separated by commas. */
  constructor(servers: string, tls: EtcdTls) {
    const urls = servers.split(',').map(parseServer)
    const secure = urls[0]!.protocol === 'https:'
    const options = {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      'grpc.keepalive_time_ms': 30_000,
      'grpc.keepalive_timeout_ms': 10_000,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2_000,
    }
    const trust = secure ? tlsCredentials(tls) : credentials.createInsecure()
    const services = loaded()
    this.#clients = Object.fromEntries(
      ['KV', 'Watch', 'Lease', 'Maintenance'].map((name) => [
        name,
        new services[name]!(targetOf(urls), trust, options) as unknown as Client,
      ]),
    )
  }

  async call<T>(
    service: string,
    method: string,
    request: object,
    { timeoutMs, retries = false }: CallOptions,
  ): Promise<T> {
    const end = performance.now() + timeoutMs
    for (let delay = retryMinMs; ; delay = Math.min(delay * 2, retryMaxMs)) {
      try {
        return await this.#once<T>(service, method, request, end)
      } catch (error) {
        const broken = (error as ServiceError).code === status.UNAVAILABLE
        if (!retries || !broken || this.#closed || performance.now() + delay > end) throw error
        await new Promise((resolve) => setTimeout(resolve, delay))
      }
    }
  }

  #once<T>(service: string, method: string, request: object, end: number): Promise<T> {
    type Unary = (
      request: object,
      metadata: Metadata,
      options: { deadline: number },
      done: (error: ServiceError | null, response: T) => void,
    ) => ClientUnaryCall
    const client = this.#clients[service] as unknown as Record<string, Unary>
    return new Promise((resolve, reject) => {
      // The clock of gRPC deadlines is the machine's.
      const deadline = performance.timeOrigin + end
      client[method]!(request, this.#metadata, { deadline }, (error, response) => {
        if (error === null) resolve(response)
        else reject(error)
      })
    })
  }

  watch(): WatchStream {
    return (this.#clients.Watch as unknown as { watch(): WatchStream }).watch()
  }

  close(): void {
    this.#closed = true
    for (const client of Object.values(this.#clients)) client.close()
  }
}

const parseServer = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new StorageError('Unavailable', `storage etcd: ${text} is no http or https URL`)
  }
  return url
}

/** Several addresses of one cluster are tried in turn; names are resolved by gRPC. */
const targetOf = (urls: readonly URL[]): string => {
  const hosts = urls.map(({ hostname, port }) => `${hostname}:${port || '2379'}`)
  const numeric = urls.every(({ hostname }) => /^[\d.]+$/.test(hostname))
  return numeric ? `ipv4:${hosts.join(',')}` : `dns:///${hosts[0]}`
}

const tlsCredentials = ({ caFile, certFile, keyFile }: EtcdTls): ChannelCredentials => {
  const read = (file: string | undefined) => (file === undefined ? null : readFileSync(file))
  return credentials.createSsl(read(caFile), read(keyFile), read(certFile))
}
