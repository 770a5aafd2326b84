/** What the store asks of admission: the chain itself is built in src/admission and handed in. */
import type { GroupVersionKind, GroupVersionResource } from '#api/group-version.js'
import type { JsonObject, KubeObject } from '#api/object.js'
import type { RequestContext, ResourceDefinition } from './resource-definition.js'

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export interface AdmissionAttributes {
  readonly operation: AdmissionOperation
  readonly definition: ResourceDefinition
  /** Of the request: for a subresource with a kind of its own (Scale, Eviction, Binding) that kind. */
  readonly kind: GroupVersionKind
  readonly resource: GroupVersionResource
  readonly subresource: string
  readonly namespace: string
  /** Empty for each object of a collection delete and for a create with generateName. */
  readonly name: string
  /** What is to be written; undefined for DELETE. `mutate` may change it in place, `validate` must not. */
  readonly object: KubeObject | undefined
  readonly oldObject: KubeObject | undefined
  /** CreateOptions, UpdateOptions, DeleteOptions as sent to webhooks and policies; most requests meet none. */
  options(): JsonObject
  readonly ctx: RequestContext
}

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
