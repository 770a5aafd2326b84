/** The part of etcd's v3 gRPC API that the driver uses: field numbers as etcd publishes them. */
import type { ClientDuplexStream } from '@grpc/grpc-js'
import { mapValues } from '#json/entries.js'

type Field = readonly [type: string, id: number, rule?: 'repeated']

const message = (fields: Readonly<Record<string, Field>>) => ({
  fields: mapValues(fields, ([type, id, rule]) => ({ type, id, rule })),
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

export const descriptor = {
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
        RangeResponse: message({
          header,
          kvs: ['KeyValue', 2, 'repeated'],
          more: ['bool', 3],
          count: ['int64', 4],
        }),
        PutRequest: message({ key: ['bytes', 1], value: ['bytes', 2], lease: ['int64', 3] }),
        PutResponse: message({ header }),
        DeleteRangeRequest: message({ key: ['bytes', 1] }),
        RequestOp: message({
          request_range: ['RangeRequest', 1],
          request_put: ['PutRequest', 2],
          request_delete_range: ['DeleteRangeRequest', 3],
        }),
        ResponseOp: message({ response_range: ['RangeResponse', 1] }),
        Compare: message({
          result: ['int32', 1],
          target: ['int32', 2],
          key: ['bytes', 3],
          version: ['int64', 4],
          mod_revision: ['int64', 6],
        }),
        TxnRequest: message({
          compare: ['Compare', 1, 'repeated'],
          success: ['RequestOp', 2, 'repeated'],
          failure: ['RequestOp', 3, 'repeated'],
        }),
        TxnResponse: message({
          header,
          succeeded: ['bool', 2],
          responses: ['ResponseOp', 3, 'repeated'],
        }),
        CompactRequest: message({ revision: ['int64', 1] }),
        CompactResponse: message({ header }),
        WatchRequest: message({
          create_request: ['WatchCreateRequest', 1],
          progress_request: ['WatchProgressRequest', 3],
        }),
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
          events: ['Event', 11, 'repeated'],
        }),
        Event: message({ type: ['int32', 1], kv: ['KeyValue', 2], prev_kv: ['KeyValue', 3] }),
        LeaseGrantRequest: message({ TTL: ['int64', 1], ID: ['int64', 2] }),
        LeaseGrantResponse: message({ header, ID: ['int64', 2], TTL: ['int64', 3] }),
        AlarmRequest: message({}),
        AlarmResponse: message({ header, alarms: ['AlarmMember', 2, 'repeated'] }),
        AlarmMember: message({ alarm: ['int32', 2] }),
        StatusRequest: message({}),
        StatusResponse: message({ header, version: ['string', 2] }),
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
interface EtcdHeader {
  readonly header: { readonly revision: string }
}
export interface RangeResponse extends EtcdHeader {
  readonly kvs: readonly EtcdKeyValue[]
  readonly more: boolean
  readonly count: string
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
export interface StatusResponse extends EtcdHeader {
  readonly version: string
}
export type WatchStream = ClientDuplexStream<object, WatchResponse>
