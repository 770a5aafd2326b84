/**
 * Remembers the slices that this controller has written, so that events of its own writes cause no sync. Upstream's
 * EndpointSliceTracker.
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
