/**
 * Facts about the API, read from openapi/data when they are first asked for and then kept: the files are part of the
 * package and never change while it runs.
 */
import { readFileSync } from 'node:fs'
import { type GroupVersionKind, kindKey } from '#api/group-version.js'
import type { JsonObject } from '#json/value.js'
import { packageRoot } from '#program/package-root.js'

const dataUrl = new URL('openapi/data/', packageRoot)

const lazy = <T>(file: string): (() => T) => {
  let value: T | undefined
  return () => {
    value ??= JSON.parse(readFileSync(new URL(file, dataUrl), 'utf8')) as T
    return value
  }
}

/** A schema of openapi/data/schemas.json; `$ref`s are `#/components/schemas/<name>`. */
export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  format?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  items?: Schema
  allOf?: Schema[]
  oneOf?: Schema[]
  $ref?: string
  required?: string[]
  enum?: string[]
  default?: unknown
  'x-kubernetes-group-version-kind'?: GroupVersionKind[]
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: 'atomic' | 'granular'
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-unions'?: JsonObject[]
}

/** Schemas that are asked for by name. */
export const schemaNames = {
  objectMeta: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  listMeta: 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta',
  status: 'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
  pod: 'io.k8s.api.core.v1.Pod',
  jsonSchemaProps: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps',
} as const

/**
 * Feature gates by name, each with its stage (ALPHA, BETA, DEPRECATED, none), whether it is on by default and whether it
 * stays so; and the versions, `group/version`, that upstream's schemes know, served or not.
 */
export const enablement = lazy<{
  featureGates: Record<string, [stage: string, byDefault: boolean, isLocked: boolean]>
  groupVersions: string[]
}>('enablement.json')

/** By name, as in `io.k8s.api.core.v1.Pod`. */
export const schemas = lazy<Record<string, Schema>>('schemas.json')

/** The versions, `group/version`, that have options and events of their own: in every scheme, or not in that of custom resources. */
export const metaKinds = lazy<{ everywhere: string[]; builtInOnly: string[] }>('meta-kinds.json')

let namesOfKinds: ReadonlyMap<string, string> | undefined

/** The schema of a kind, also of those that are no resource's own (Scale, Binding, Eviction); undefined for a custom one. */
export const schemaNameOfKind = (gvk: GroupVersionKind): string | undefined => {
  namesOfKinds ??= new Map(
    Object.entries(schemas()).flatMap(([name, schema]) =>
      (schema['x-kubernetes-group-version-kind'] ?? []).map((own) => [kindKey(own), name]),
    ),
  )
  return namesOfKinds.get(kindKey(gvk))
}

/** The name that a `$ref` points at. */
export const schemaNameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)

export interface DiscoveredSubresource {
  subresource: string
  responseKind: GroupVersionKind
  verbs: string[]
}
export interface DiscoveredResource {
  resource: string
  responseKind: GroupVersionKind
  scope: 'Namespaced' | 'Cluster'
  singularResource: string
  shortNames?: string[]
  categories?: string[]
  verbs: string[]
  subresources?: DiscoveredSubresource[]
}
interface DiscoveredGroup {
  metadata: { name?: string }
  versions: { version: string; freshness: string; resources: DiscoveredResource[] }[]
}
/** The discovery documents of the reference: `api` and `apis` in aggregated form, `legacy` by path. */
interface Discovery {
  api: { items: DiscoveredGroup[] }
  apis: { items: DiscoveredGroup[] }
  legacy: Record<string, JsonObject>
}
export const discovery = lazy<Discovery>('discovery.json')

/** Columns of `as=Table` by `<group>/<version>/<resource>`; the core group is empty. */
export const tableColumns =
  lazy<
    Record<
      string,
      {
        name: string
        type: 'string' | 'integer' | 'boolean' | 'date'
        format: string
        priority: number
      }[]
    >
  >('table-columns.json')

/**
 * The Go fields of every type, in Go's order, each `name|type|options|protobuf|embedded in`. Types read as in Go;
 * `#core.v1.Pod` is a struct of this file, `{v1.RestartPolicy string}` a named type. Options: `e` omitempty, `z` omitzero.
 * Protobuf: the field's number, with `v` for a varint and `f` for a fixed64;
 * embedded in: the numbers on the way, dots between them, and the name of the innermost struct.
 */
export const goFields = lazy<Record<string, string[]>>('go-fields.json')

/** The same of types that are no part of the API: of files of the server's own, and of what annotations carry. */
export const configurationFields = lazy<Record<string, string[]>>('configuration-fields.json')

/**
 * Fields of upstream's internal types, as far as messages print them, in Go's order; by the name of the v1 type, each
 * `Go name|JSON name of v1 unless it is the Go name in lower case|zero value, null unless given|type of its parts|map`.
 * A JSON name behind `^` is one of the object around, no Go name that the fields of the metadata stand here.
 */
export const internalFields = lazy<Record<string, string[]>>('internal-fields.json')

/** `core.v1.Pod` for `io.k8s.api.core.v1.Pod`: the names of go-fields.json. */
export const goTypeName = (schemaName: string): string =>
  schemaName.replace('io.k8s.apimachinery.pkg.apis.meta.v1.', 'meta.').replace('io.k8s.api.', '')

/** Objects that exist after the first start, by the path of their collection, as the reference has them. */
export const bootstrapObjects = lazy<Record<string, JsonObject[]>>('bootstrap.json')
