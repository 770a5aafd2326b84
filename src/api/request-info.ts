/** What a request is about, read off its method, path and query before anyone is asked for permission. */
export interface RequestInfo {
  /** False for `/healthz`, `/apis`, discovery documents and everything else that is no object or collection. */
  readonly isResourceRequest: boolean
  /** Decoded path without the query. */
  readonly path: string
  /** API verb of a resource request (`deletecollection`, …), else the HTTP method in lower case. */
  readonly verb: string
  readonly apiGroup: string
  readonly apiVersion: string
  /** Empty at the cluster scope. A request for one Namespace carries its name here, too. */
  readonly namespace: string
  readonly resource: string
  readonly subresource: string
  /** Empty for collections; from `fieldSelector=metadata.name=x` when a list is bound to one name. */
  readonly name: string
  /** As it came, for requests about many objects. Empty for requests with a verb in the path, where nobody needs it. */
  readonly fieldSelector: string
  /** The same. */
  readonly labelSelector: string
  /** Segments from the resource on: resource/name/subresource/rest. */
  readonly parts: readonly string[]
}
