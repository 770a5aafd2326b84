/** Group versions that have an APIService, as discovery and OpenAPI show them. */
import type { JsonObject } from '#json/value.js'

export interface RemoteVersion {
  readonly group: string
  readonly version: string
  /** groupPriorityMinimum and versionPriority of the APIService. */
  readonly groupPriority: number
  readonly versionPriority: number
  /**
   * True when no other server serves it. If this one does not either, its group appears only in the unaggregated lists.
   */
  readonly isLocal: boolean
  /** In the form of aggregated discovery; undefined where they could not be read. */
  readonly resources: readonly JsonObject[] | undefined
  readonly freshness: 'Current' | 'Stale'
}

/** What an aggregated server's OpenAPI v2 document says of its group version. */
export interface RemoteDocument {
  readonly etag: string
  readonly document: JsonObject
}

export interface RemoteSource {
  versions(): readonly RemoteVersion[]
  /** Documents of OpenAPI 3 and where they are: `apis/metrics.k8s.io/v1beta1` → `/openapi/v3/apis/…?hash=…`. */
  openApiPaths(): ReadonlyMap<string, string>
  /** Reads them first where they are not known. Never rejects. */
  openApiV2Documents(): Promise<readonly RemoteDocument[]>
  onChange(listener: () => void): () => void
}
