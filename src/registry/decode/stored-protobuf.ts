/**
 * Values that a kube-apiserver left in the store: it writes protobuf unless it is told otherwise (--storage-media-type).
 * They are read as the JSON that would be stored here; the next write of the object replaces them.
 */
import { formatGroupVersion, type GroupVersionKind, parseGroupVersion } from '#api/group-version.js'
import { encodeObject } from '#cacher/object-bytes.js'
import { decodeObject } from '../decode.js'
import type { ResourceDefinition } from '../resource-definition.js'
import type { ResourceTable } from '../resource-table.js'
import { openEnvelope, protobufToJson } from './protobuf.js'

type Table = Pick<ResourceTable, 'byKind'> & Iterable<ResourceDefinition>

/**
 * The row to read a kind by. Upstream may store a version that is not served yet or no longer (a beta, until the
 * release after next); its successor has the same fields under the same numbers.
 */
const rowOf = (table: Table, gvk: GroupVersionKind): ResourceDefinition | undefined => {
  const found = table.byKind(gvk)
  if (found !== undefined) return found
  for (const row of table) if (row.gvk.group === gvk.group && row.gvk.kind === gvk.kind) return row
  return undefined
}

/** Objects that servers share and no resource shows. */
const ofServers: Readonly<Record<string, string>> = {
  'v1/RangeAllocation': 'io.k8s.api.core.v1.RangeAllocation',
}

/** What cannot be read stays as it is: whoever asks for that object is told. */
export const storedProtobufReader =
  (table: Table) =>
  (value: Buffer): Buffer => {
    try {
      const { kind, apiVersion } = openEnvelope(value)
      const hidden = ofServers[`${apiVersion}/${kind}`]
      if (hidden !== undefined)
        return Buffer.from(JSON.stringify({ metadata: {}, ...protobufToJson(value, hidden) }))
      const version = parseGroupVersion(apiVersion)
      const row = version && rowOf(table, { ...version, kind })
      if (row?.schemaName === undefined) return value
      const json = protobufToJson(value, row.schemaName)
      json.apiVersion = formatGroupVersion(row.gvk)
      const { object } = decodeObject(row, json)
      return encodeObject(row.convert?.toStorage(object) ?? object).value
    } catch {
      return value
    }
  }
