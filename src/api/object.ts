/** The shapes that every Kubernetes object has. Everything beyond them is data that a schema describes. */
import type { JsonObject } from '#json/value.js'

// Types and not interfaces: TypeScript lets only those pass where a JsonObject is wanted.
export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export type ManagedFieldsEntry = {
  manager?: string
  operation?: 'Apply' | 'Update'
  apiVersion?: string
  time?: string
  fieldsType?: 'FieldsV1'
  fieldsV1?: JsonObject
  subresource?: string
}

export type ObjectMeta = {
  name?: string
  generateName?: string
  namespace?: string
  selfLink?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string | null
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: ManagedFieldsEntry[]
}

/** The fields of ObjectMeta, in upstream's order. */
export const metadataFields = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const satisfies readonly (keyof ObjectMeta)[]

/**
 * An object of any kind. Whoever received one from storage or a watch must not change it: it is shared by every
 * reader. Strategy hooks that say so get a private copy.
 */
export interface KubeObject {
  kind: string
  apiVersion: string
  metadata: ObjectMeta
  // Kinds differ; their files narrow this with an interface of their own.
  // biome-ignore lint/suspicious/noExplicitAny: the generic registry moves objects of every kind
  [field: string]: any
}

/** An object as the API or storage returns it, with the metadata that the API server always sets. */
export interface PersistedObject extends KubeObject {
  metadata: ObjectMeta & { name: string; uid: string; resourceVersion: string }
}

/** The same of a kind that lives in namespaces. */
export interface NamespacedObject extends PersistedObject {
  metadata: PersistedObject['metadata'] & { namespace: string }
}

/** A part of an object that its kind's code knows by heart: `spec`, a container, a volume. */
// biome-ignore lint/suspicious/noExplicitAny: the types of the API are facts of openapi/data, not of TypeScript
export type Fields = { [field: string]: any }

export type ListMeta = {
  resourceVersion?: string
  continue?: string
  remainingItemCount?: number
}
