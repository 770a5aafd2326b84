/** The rows of the resource table that an accepted definition stands for: one for each served version. */
import { createHash } from 'node:crypto'
import { forbidden } from '#api/errors.js'
import { compareVersions } from '#api/group-version.js'
import { cloneJson, jsonEqual } from '#api/json-object.js'
import type { JsonObject, KubeObject } from '#api/object.js'
import { storagePrefixOf } from '#registry/built-in-rows.js'
import type {
  ResourceDefinition,
  SiblingVersion,
  StoredConversion,
  Verb,
} from '#registry/resource-definition.js'
import { applyDefaults, dropNulls, hasDefaults } from './apply-defaults.js'
import { customTable } from './columns.js'
import type { Converter } from './convert-by-webhook.js'
import { customStrategy } from './custom-strategy.js'
import { type CustomResourceDefinition, type DefinitionVersion, isTrue } from './definition.js'
import { coerceEmbedded, dropInvalidEmbedded } from './embedded.js'
import { compileJsonPath } from './json-path.js'
import { prune } from './prune.js'
import { namesIn, scaleSubresource } from './scale.js'
import type { StructuralSchema } from './structural-schema.js'

const verbs: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
]
const schemaOf = (version: DefinitionVersion): StructuralSchema =>
  version.schema?.openAPIV3Schema ?? {}

/** The root is no embedded object, whatever its schema says: its metadata is read by the registry. */
const partsOf = (schema: StructuralSchema): StructuralSchema => {
  let parts = knownParts.get(schema)
  if (parts === undefined) {
    parts = { ...schema, 'x-kubernetes-embedded-resource': false }
    knownParts.set(schema, parts)
  }
  return parts
}
const knownParts = new WeakMap<StructuralSchema, StructuralSchema>()

const conform = (object: KubeObject, schema: StructuralSchema): string[] => {
  const unknown = prune(object, schema)
  dropNulls(object, schema)
  applyDefaults(object, schema)
  return unknown.map((path) => `unknown field ${JSON.stringify(path)}`)
}

/** The object as `schema` shows it; the same one when that changes nothing. */
const shownBy = (object: KubeObject, schema: StructuralSchema): KubeObject => {
  const copy = cloneJson(object)
  conform(copy, schema)
  dropInvalidEmbedded(copy, partsOf(schema))
  return jsonEqual(copy, object) ? object : copy
}

const selectableFields = (
  version: DefinitionVersion,
): Record<string, (object: KubeObject) => string> =>
  Object.fromEntries(
    (version.selectableFields ?? []).map(({ jsonPath }) => {
      const path = compileJsonPath(jsonPath)
      return [
        jsonPath.replace(/^\./, ''),
        (object: KubeObject) => {
          const value = path?.(object)[0]
          return value === undefined || value === null ? '' : String(value)
        },
      ]
    }),
  )

/** Strategy None: what is written in one version is read in another under its apiVersion. */
const rename: Converter = async (object, apiVersion) =>
  object.apiVersion === apiVersion ? object : { ...cloneJson(object), apiVersion }

/** Unless its author has words for it, a version that is deprecated names the best that is better. */
const deprecationWarningOf = (
  version: DefinitionVersion,
  versions: readonly DefinitionVersion[],
  { group, kind }: { group: string; kind: string },
): string | undefined => {
  const { name, deprecated, deprecationWarning } = version
  if (!deprecated || deprecationWarning !== undefined)
    return deprecated ? deprecationWarning : undefined
  const best = versions
    .filter((v) => v.served && !v.deprecated && compareVersions(v.name, name) < 0)
    .map((v) => v.name)
    .sort(compareVersions)[0]
  const instead = best === undefined ? '' : `; use ${group}/${best} ${kind}`
  return `${group}/${name} ${kind} is deprecated${instead}`
}

/** What a conversion made is seen through the schema of its version. */
const conversionOf = (
  convert: Converter,
  apiVersion: string,
  versions: readonly DefinitionVersion[],
): StoredConversion => {
  const group = apiVersion.slice(0, apiVersion.indexOf('/'))
  const storedAs = `${group}/${versions.find((v) => v.storage)!.name}`
  const to = async (object: KubeObject, wanted: string): Promise<KubeObject> => {
    const converted = await convert(object, wanted)
    if (converted === object) return object
    const version = versions.find(({ name }) => `${group}/${name}` === wanted)!
    prune(converted, schemaOf(version))
    dropNulls(converted, schemaOf(version))
    return converted
  }
  return {
    isNominal: convert === rename,
    convert,
    toStorage: (object) => to(object, storedAs),
    fromStorage: (object) => to(object, apiVersion),
  }
}

const siblingOf = (version: DefinitionVersion): SiblingVersion => {
  const { subresources, served, storage } = version
  const path = subresources?.scale?.specReplicasPath
  return {
    structuralSchema: schemaOf(version) as JsonObject,
    hasStatus: subresources?.status !== undefined && (served || storage),
    ...(path === undefined ? {} : { replicasPath: namesIn(path) }),
  }
}

/** `definition` has accepted names and is established. `convert` where a webhook converts. */
export const customRows = (
  definition: CustomResourceDefinition,
  convert?: Converter,
): ResourceDefinition[] => {
  const { group, versions, scope } = definition.spec
  const names = definition.status!.acceptedNames
  const storage = versions.find((v) => v.storage)!
  const isDeleted = definition.metadata.deletionTimestamp !== undefined
  const storageSchema = schemaOf(storage)
  // StorageVersionHash of apiserver's discovery.
  const storageVersionHash = createHash('sha256')
    .update(`${group}/${storage.name}/${names.kind}`)
    .digest()
    .subarray(0, 8)
    .toString('base64')
  const mayDiffer = hasDefaults(storageSchema) || !preservesAll(storageSchema)
  const hasOtherVersions =
    versions.length > 1 || (definition.status!.storedVersions ?? []).some((v) => v !== storage.name)
  const converter = convert ?? (hasOtherVersions ? rename : undefined)
  /** What is stored is read by the schema of its own version, where that still is. */
  const show = (object: KubeObject): KubeObject => {
    const version = versions.find(({ name }) => `${group}/${name}` === object.apiVersion)
    return shownBy(object, schemaOf(version ?? storage))
  }
  const siblings = new Map(versions.map((version) => [version.name, siblingOf(version)]))
  return versions
    .filter((version) => version.served)
    .map((version): ResourceDefinition => {
      const schema = schemaOf(version)
      const scale = version.subresources?.scale
      const table = customTable(version)
      const gvr = { group, version: version.name, resource: names.plural }
      const refuse = (object: KubeObject) =>
        forbidden(
          gvr,
          object.metadata.name ?? '',
          'create not allowed while custom resource definition is terminating',
        )
      return {
        gvr,
        gvk: { group, version: version.name, kind: names.kind },
        listKind: names.listKind ?? `${names.kind}List`,
        singular: names.singular ?? '',
        namespaced: scope === 'Namespaced',
        shortNames: names.shortNames ?? [],
        categories: names.categories ?? [],
        verbs,
        hasStatus: version.subresources?.status !== undefined,
        subresources: scale === undefined ? [] : [scaleSubresource(scale)],
        storagePrefix: storagePrefixOf(group, names.plural, true),
        storedAsJson: true,
        storageVersion: { group, version: storage.name, kind: names.kind },
        ...(converter === undefined
          ? {}
          : { conversion: conversionOf(converter, `${group}/${version.name}`, versions) }),
        schemaName: undefined,
        structuralSchema: schema as JsonObject,
        fillDefaults: (object) => {
          applyDefaults(object, schema)
          return []
        },
        conform: (object) => {
          const unknown = conform(object, schema)
          coerceEmbedded(object, partsOf(schema))
          return unknown
        },
        onRead: mayDiffer ? show : undefined,
        ...(storage.served ? { storageVersionHash } : {}),
        deprecationWarning: deprecationWarningOf(version, versions, { group, kind: names.kind }),
        versions: siblings,
        isTerminating: isTrue(definition, 'Terminating'),
        strategy: customStrategy(version, names.kind, isDeleted ? refuse : undefined),
        returnsDeletedObject: false,
        selectableFields: selectableFields(version),
        ownFieldLabels: true,
        columns: table.columns,
        cells: table.cells,
        isCustom: true,
      }
    })
}

const preservesAll = (schema: StructuralSchema): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] === true &&
  Object.keys(schema.properties ?? {}).length === 0
