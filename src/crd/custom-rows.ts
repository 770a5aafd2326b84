/** The rows of the resource table that an accepted definition stands for: one for each served version. */
import { createHash } from 'node:crypto'
import { conditionOf, isConditionTrue } from '#api/conditions.js'
import { forbidden } from '#api/errors.js'
import {
  compareVersions,
  formatGroupVersion,
  type GroupVersionKind,
  type GroupVersionResource,
  kindKey,
  parseGroupVersion,
} from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { storagePrefixOf } from '#registry/built-in-rows.js'
import { goPrint } from '#registry/go-print.js'
import type { ResourceDefinition, SiblingVersion, Verb } from '#registry/resource-definition.js'
import { applyDefaults } from './apply-defaults.js'
import { customTable } from './columns.js'
import { conform, mayShowOtherwise, shownBy } from './conform.js'
import { conversionOf, rename } from './conversion.js'
import type { Converter } from './convert-by-webhook.js'
import { customStrategy } from './custom-strategy.js'
import {
  type CustomResourceDefinition,
  type DefinitionVersion,
  schemaOf,
  storageVersionOf,
} from './definition/definition.js'
import { compileJsonPath } from './json-path.js'
import { namesIn, scaleSubresource } from './scale.js'
import { mapSchemas, publishedForm, type StructuralSchema } from './structural-schema.js'

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
          return value === undefined || value === null ? '' : goPrint(value)
        },
      ]
    }),
  )

/** A deprecated version without a warning of its own recommends the best newer version. */
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

const siblingOf = (version: DefinitionVersion): SiblingVersion => {
  const { subresources, served, storage } = version
  const path = subresources?.scale?.specReplicasPath
  return {
    structuralSchema: publishedForm(schemaOf(version)),
    hasStatus: subresources?.status !== undefined && (served || storage),
    ...(path === undefined ? {} : { replicasPath: namesIn(path) }),
  }
}

/** StorageVersionHash of apiserver's discovery. */
const storageVersionHashOf = (gvk: GroupVersionKind): string =>
  createHash('sha256').update(kindKey(gvk)).digest().subarray(0, 8).toString('base64')

const terminating =
  (gvr: GroupVersionResource) =>
  (name: string): Error =>
    forbidden(gvr, name, 'create not allowed while custom resource definition is terminating')

/** Stored objects are read with the schema of their own version, if it still exists. */
const onReadOf = (definition: CustomResourceDefinition): ResourceDefinition['onRead'] => {
  const { group, versions } = definition.spec
  const storage = storageVersionOf(definition)
  if (!mayShowOtherwise(schemaOf(storage))) return undefined
  return (object) => {
    const version = versions.find(({ name }) => `${group}/${name}` === object.apiVersion)
    return shownBy(object, schemaOf(version ?? storage))
  }
}

/**
 * `rename` where objects of other versions may be stored and no webhook converts; undefined where there are none. A spec
 * that was changed may have had other versions: status.storedVersions says what its writers say.
 */
const converterOf = ({ metadata, spec }: CustomResourceDefinition): Converter | undefined =>
  spec.versions.length > 1 || (metadata.generation ?? 1) > 1 ? rename : undefined

/**
 * An object is checked against the version that it names, wherever it was sent; in an unknown version all fields are
 * unknown. Another kind is left alone, for validation to refuse (customresource_handler.go, schemaCoercer).
 */
const schemaOfObject = (
  { group, versions }: CustomResourceDefinition['spec'],
  kind: string,
  object: KubeObject,
): StructuralSchema | undefined => {
  const gv = parseGroupVersion(object.apiVersion ?? '')
  if (gv?.group !== group || object.kind !== kind) return undefined
  const version = versions.find(({ name }) => name === gv.version)
  return version === undefined ? {} : schemaOf(version)
}

/** What the rows of all versions have in common. */
const sharedParts = (definition: CustomResourceDefinition) => {
  const { group, versions, scope } = definition.spec
  const names = definition.status!.acceptedNames
  const storage = storageVersionOf(definition)
  const storageVersion = { group, version: storage.name, kind: names.kind }
  return {
    listKind: names.listKind ?? `${names.kind}List`,
    singular: names.singular ?? '',
    namespaced: scope === 'Namespaced',
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    storagePrefix: storagePrefixOf(group, names.plural, true),
    storageVersion,
    ...(storage.served ? { storageVersionHash: storageVersionHashOf(storageVersion) } : {}),
    onRead: onReadOf(definition),
    versions: new Map(versions.map((version) => [version.name, siblingOf(version)])),
    isTerminating: isConditionTrue(definition, 'Terminating'),
  } satisfies Partial<ResourceDefinition>
}

const rowsOf = (
  definition: CustomResourceDefinition,
  wanted: readonly DefinitionVersion[],
  convert: Converter | undefined,
  shownSince: number,
): ResourceDefinition[] => {
  const { group, versions } = definition.spec
  const { plural, kind } = definition.status!.acceptedNames
  const shared = sharedParts(definition)
  // Once its objects are gone, another finalizer may hold a definition whose condition takes new ones again.
  const isEmptied = conditionOf(definition, 'Terminating')?.status === 'False'
  const isEnding = definition.metadata.deletionTimestamp !== undefined && !isEmptied
  const rowOf = (version: DefinitionVersion): ResourceDefinition => {
    const gvr = { group, version: version.name, resource: plural }
    const gvk = { group, version: version.name, kind }
    const schema = schemaOf(version)
    const scale = version.subresources?.scale
    const { columns, cells } = customTable(version)
    return {
      ...shared,
      gvr,
      gvk,
      isCustom: true,
      shownSince,
      verbs,
      hasStatus: version.subresources?.status !== undefined,
      subresources: scale === undefined ? [] : [scaleSubresource(scale)],
      storedAsJson: true,
      conversion: convert && conversionOf(convert, formatGroupVersion(gvr), versions),
      schemaName: undefined,
      structuralSchema: publishedForm(schema),
      fillDefaults: (object) => {
        applyDefaults(object, schema)
        return []
      },
      conform: (object) => {
        const own = schemaOfObject(definition.spec, kind, object)
        return own === undefined ? [] : conform(object, own)
      },
      deprecationWarning: deprecationWarningOf(version, versions, gvk),
      strategy: customStrategy(version, kind, isEnding ? terminating(gvr) : undefined),
      returnsDeletedObject: false,
      selectableFields: selectableFields(version),
      ownFieldLabels: true,
      columns,
      cells,
    }
  }
  return wanted.map(rowOf)
}

/** What preserveUnknownFields says of all versions, in the words of their schemas: nothing is pruned. Only v1beta1 could say it. */
const withUnknownKept = (definition: CustomResourceDefinition): CustomResourceDefinition => {
  const { spec } = definition
  if (spec.preserveUnknownFields !== true) return definition
  const versions = spec.versions.map((version) => {
    const openAPIV3Schema = mapSchemas(schemaOf(version), (schema) =>
      (schema.type ?? 'object') === 'object'
        ? { ...schema, 'x-kubernetes-preserve-unknown-fields': true }
        : schema,
    )
    return { ...version, schema: { openAPIV3Schema } }
  })
  return { ...definition, spec: { ...spec, versions } }
}

/**
 * `definition` has accepted names and is established. `convert` where a webhook converts. `shownSince` where an earlier
 * version of the definition showed the objects in the same way.
 */
export const customRows = (
  definition: CustomResourceDefinition,
  convert = converterOf(definition),
  shownSince = Number(definition.metadata.resourceVersion),
): ResourceDefinition[] => {
  const kept = withUnknownKept(definition)
  const served = kept.spec.versions.filter((version) => version.served)
  return rowsOf(kept, served, convert, shownSince)
}

/** The row of the version that objects are stored in, whether or not it is served. */
export const storedRow = (
  definition: CustomResourceDefinition,
  convert = converterOf(definition),
): ResourceDefinition => {
  const kept = withUnknownKept(definition)
  return rowsOf(kept, [storageVersionOf(kept)], convert, 0)[0]!
}
