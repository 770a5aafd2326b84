/** What the store asks of admission: the chain itself is built in src/admission and handed in. */
import type { GroupVersionKind, GroupVersionResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import type { JsonObject } from '#json/value.js'
import type { RequestContext, ResourceDefinition } from './resource-definition.js'

/** What admission is asked about. The operation decides which objects there are. */
export type AdmittedChange =
  | { readonly operation: 'CREATE'; readonly object: KubeObject; readonly oldObject?: undefined }
  | { readonly operation: 'CONNECT'; readonly object: KubeObject; readonly oldObject?: undefined }
  | { readonly operation: 'UPDATE'; readonly object: KubeObject; readonly oldObject: KubeObject }
  | { readonly operation: 'DELETE'; readonly object?: undefined; readonly oldObject: KubeObject }

export type AdmissionOperation = AdmittedChange['operation']

export interface AdmissionAttributes {
  readonly operation: AdmissionOperation
  readonly definition: ResourceDefinition
  /** The kind of the request's body: for a subresource with a kind of its own (Scale, Eviction, Binding), that kind. */
  readonly kind: GroupVersionKind
  readonly resource: GroupVersionResource
  readonly subresource: string
  readonly namespace: string
  /** Empty for each object of a collection delete and for a create with generateName. */
  readonly name: string
  /** What is to be written; undefined for DELETE. `mutate` may change it in place, `validate` must not. */
  readonly object: KubeObject | undefined
  readonly oldObject: KubeObject | undefined
  /**
   * CreateOptions, UpdateOptions or DeleteOptions for webhooks and policies. A function, because most requests meet
   * neither. Null for a connection.
   */
  options(): JsonObject | null
  readonly ctx: RequestContext
}

/** The attributes of some operations only. */
export type AttributesOf<O extends AdmissionOperation> = AdmissionAttributes &
  Extract<AdmittedChange, { readonly operation: O }>

/** Something is to be written. */
export type WriteAttributes = AttributesOf<'CREATE' | 'UPDATE'>

/** Both throw an ApiError to refuse, and yield a promise only where they have to wait. */
export interface Admission {
  mutate(attributes: AdmissionAttributes): void | Promise<void>
  validate(attributes: AdmissionAttributes): void | Promise<void>
}

/** Lets everything pass. */
export const admitAll: Admission = {
  mutate: () => {},
  validate: () => {},
}
