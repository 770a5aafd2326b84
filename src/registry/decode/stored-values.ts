/**
 * Values that a kube-apiserver left in the store. It writes protobuf unless it is told otherwise (--storage-media-type),
 * and an object stays in the version that was stored at its last write: definitions of custom resources in v1beta1 to
 * this day. They are read as the JSON that would be stored here; the next write of the object replaces them.
 */
import { formatGroupVersion, type GroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { encodeObject } from '#cacher/object-bytes.js'
import { parse } from '#json/json.js'
import { decodeObject, ordered } from '../decode.js'
import type { ResourceDefinition } from '../resource-definition.js'
import type { ResourceTable } from '../resource-table.js'
import { openEnvelope, protobufToJson } from './protobuf.js'

type Table = Pick<ResourceTable, 'byKind'> & Iterable<ResourceDefinition>
type RowOf = (gvk: GroupVersionKind) => ResourceDefinition | undefined

const openingBrace = 0x7b
const comma = 0x2c
const lineEnd = 0x0a

/**
 * The row to read a kind by. Upstream may store a version that is not served yet or no longer (a beta, until the
 * release after next); its successor has the same fields under the same numbers.
 */
const builtInRows = (table: Table): RowOf => {
  const rows = new Map<string, ResourceDefinition[]>()
  for (const row of table) {
    if (row.isCustom) continue
    const key = `${row.gvk.group}/${row.gvk.kind}`
    rows.set(key, [...(rows.get(key) ?? []), row])
  }
  return ({ group, version, kind }) => {
    const found = rows.get(`${group}/${kind}`)
    return found?.find(({ gvk }) => gvk.version === version) ?? found?.[0]
  }
}

/** Objects that servers share and no resource shows. */
const ofServers: Readonly<Record<string, string>> = {
  'v1/RangeAllocation': 'io.k8s.api.core.v1.RangeAllocation',
}

const stored = (row: ResourceDefinition, json: KubeObject): Buffer => {
  const { object } = decodeObject(row, { ...json, apiVersion: formatGroupVersion(row.gvk) })
  row.strategy.completeStored?.(object)
  return encodeObject(ordered(row, row.convert?.toStorage(object) ?? object)).value
}

const fromProtobuf = (value: Buffer, rowOf: RowOf): Buffer => {
  const { kind, apiVersion } = openEnvelope(value)
  const hidden = ofServers[`${apiVersion}/${kind}`]
  if (hidden !== undefined)
    return Buffer.from(JSON.stringify({ metadata: {}, ...protobufToJson(value, hidden) }))
  const version = parseGroupVersion(apiVersion)
  const row = version && rowOf({ ...version, kind })
  if (row?.schemaName === undefined) return value
  return stored(row, protobufToJson(value, row.schemaName) as unknown as KubeObject)
}

/** JSON of built-in types begins with their names, whether Go wrote it or we did. */
const headOf = (value: Buffer): string => {
  const end = value.indexOf(comma, value.indexOf(comma) + 1)
  return end === -1 ? '' : value.toString('latin1', 0, end)
}
const head = /^\{"kind":"([^"\\]+)","apiVersion":"([^"\\]+)"$/

/** What cannot be read stays as it is: whoever asks for that object is told. */
export const storedValuesReader = (table: Table): ((value: Buffer) => Buffer) => {
  const rowOf = builtInRows(table)
  const ours = new Set<string>()
  for (const { gvk, convert, isCustom } of table) {
    const of = `{"kind":"${gvk.kind}","apiVersion":"${formatGroupVersion(gvk)}"`
    if (convert === undefined && !isCustom) ours.add(of)
  }
  const fromJson = (value: Buffer): Buffer => {
    const start = headOf(value)
    // Go's JSON ends in a line end, ours does not. Defaults that are newer than the object apply to Go's.
    if (ours.has(start) && value.at(-1) !== lineEnd) return value
    const [, kind = '', apiVersion = ''] = head.exec(start) ?? []
    const version = parseGroupVersion(apiVersion)
    const row = version && rowOf({ ...version, kind })
    if (row === undefined) return value
    const object = parse(value.toString()) as KubeObject
    return stored(row, row.upstreamForm?.read(object) ?? object)
  }
  return (value) => {
    try {
      return value[0] === openingBrace ? fromJson(value) : fromProtobuf(value, rowOf)
    } catch {
      return value
    }
  }
}
