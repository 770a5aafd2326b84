/**
 * The slices as this controller has written them: the news of its own writes need no look at all Pods of the Service.
 * Upstream's EndpointSliceTracker.
 */
import type { EndpointSlice } from './reconcile.js'

export class OwnWrites {
  readonly #versions = new Map<string, string | undefined>()

  note({ metadata }: EndpointSlice): void {
    this.#versions.set(metadata.uid, metadata.resourceVersion)
  }
  forget({ metadata }: EndpointSlice): void {
    this.#versions.delete(metadata.uid)
  }
  includes({ metadata }: EndpointSlice): boolean {
    return this.#versions.get(metadata.uid) === metadata.resourceVersion
  }
}
