/**
 * Who owns which field: `metadata.managedFields` of every write, and server-side apply. Pure, without HTTP or storage.
 *
 * When to call it (upstream's order): on the decoded, defaulted body in the version of the request, before mutating
 * admission and before the strategy's prepareForCreate/Update; so what admission adds belongs to nobody. Inside of a
 * compare-and-swap loop it runs again for each stored object. Writes that the server makes by itself (graceful delete,
 * finalizers of garbage collection, bindings) are not tracked.
 * At the very end, `keepManagedFieldsTimes(next, stored)` of ./times.js undoes new times when nothing else changed.
 */
import type { JsonObject, KubeObject } from '#api/object.js'

export interface Change {
  /** The stored object in the request's version; undefined on create. */
  readonly live: KubeObject | undefined
  /** `fieldManager`, or the first part of the User-Agent up to its slash. */
  readonly manager: string
  /** Empty for the main resource. */
  readonly subresource: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface FieldManager {
  /**
   * Yields `next` with the managedFields that it must be stored with; `next` itself is not changed. Never throws: what
   * cannot be tracked (managedFields that lie) is left out, as upstream does.
   */
  trackUpdate(change: Change & { readonly next: KubeObject }): KubeObject
  /**
   * Server-side apply: yields the merged object, to be decoded, defaulted and validated like an update. Throws ApiError:
   * 400 for a patch that carries what it may not, 409 for conflicts, 422 for managedFields that lie, 500 for what does
   * not fit the schema. `live` undefined creates.
   */
  apply(change: Change & { readonly patch: JsonObject; readonly force: boolean }): KubeObject
}
