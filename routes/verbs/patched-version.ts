/** A patch may name another version of a built-in kind: upstream reads the document in that version, and converts it. */
import { formatGroupVersion, parseGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import type { ResourceTable } from '#registry/resource-table.js'
import type { Target } from '../api-deps.js'
import {
  hasKeptItsFields,
  isFormerVersion,
  labelsAreThoseOfTemplate,
} from '../discovery/former-versions.js'

interface InOtherVersion {
  readonly value: JsonValue
  /** The definition that it is decoded by. */
  readonly definition: ResourceDefinition
  /** What was decoded, in the version of the request. */
  convert(decoded: KubeObject): KubeObject
}

const withLabelsOfTemplate = (object: KubeObject): KubeObject => {
  const { labels } = object.metadata
  const { labels: given } = (object.spec?.template?.metadata ?? {}) as { labels?: typeof labels }
  if (Object.keys(labels ?? {}).length > 0 || given === undefined) return object
  return { ...object, metadata: { ...object.metadata, labels: { ...given } } }
}

/** Undefined for a document in the version of the request, and for one that cannot be read in its own. */
export const inOtherVersion = (
  table: ResourceTable,
  { definition, view }: Target,
  document: JsonValue,
): InOtherVersion | undefined => {
  const { gvk, storagePrefix } = definition
  if (definition.isCustom || view !== undefined || !isJsonObject(document)) return undefined
  const { apiVersion, kind } = document
  if (typeof apiVersion !== 'string' || (kind || gvk.kind) !== gvk.kind) return undefined
  const gv = parseGroupVersion(apiVersion)
  const own = formatGroupVersion(gvk)
  if (gv === undefined || formatGroupVersion(gv) === own) return undefined
  const served = table.byKind({ ...gv, kind: gvk.kind })
  if (served?.storagePrefix === storagePrefix) {
    const convert = (decoded: KubeObject): KubeObject => {
      const stored = served.convert?.toStorage(decoded) ?? decoded
      const shown = definition.convert?.fromStorage(stored) ?? stored
      definition.strategy.default?.(shown)
      return shown
    }
    return { value: document, definition: served, convert }
  }
  // A former version is read by the schema of the one that took its place, where that has its fields.
  if (!isFormerVersion(gv, gvk) || !hasKeptItsFields(gvk)) return undefined
  const convert = labelsAreThoseOfTemplate(gv, gvk)
    ? withLabelsOfTemplate
    : (decoded: KubeObject) => decoded
  return { value: { ...document, apiVersion: own }, definition, convert }
}
