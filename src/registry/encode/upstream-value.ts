/** The value that kube-apiserver stores for an object: protobuf, or the JSON that Go writes. */
import { parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { stringify } from '#json/json.js'
import { goTypeName } from '#openapi/schemas.js'
import type { ResourceTable } from '../resource-table.js'
import { encodeField, inEnvelope } from './protobuf.js'

/** What encoding/json escapes for the sake of HTML and JavaScript. */
const escapedByGo = /[<>&\u2028\u2029]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const jsonOfGo = (json: string): Buffer => Buffer.from(`${json.replace(escapedByGo, escaped)}\n`)

/** `object` is in its storage version; `json` is what is stored of it here. */
export const upstreamValueOf =
  (table: Pick<ResourceTable, 'byKind'>) =>
  (object: KubeObject, json: Buffer): Buffer => {
    const { apiVersion = '', kind = '' } = object
    const { group = '', version = '' } = parseGroupVersion(apiVersion) ?? {}
    const row = table.byKind({ group, version, kind })
    const { resourceVersion, ...metadata } = object.metadata
    const unversioned = { ...object, metadata }
    if (row?.upstreamForm !== undefined)
      return jsonOfGo(stringify(row.upstreamForm.write(unversioned)))
    if (row?.schemaName === undefined || row.storedAsJson) return jsonOfGo(json.toString())
    const key = goTypeName(row.schemaName)
    return inEnvelope({ apiVersion, kind }, encodeField(key, unversioned))
  }
