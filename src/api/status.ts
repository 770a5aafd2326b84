/** The body of every error answer, and of deletes that leave nothing to show. */

export interface StatusCause {
  reason?: string
  message?: string
  field?: string
}
export interface StatusDetails {
  name?: string
  group?: string
  kind?: string
  uid?: string
  causes?: StatusCause[]
  retryAfterSeconds?: number
}
export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number }
  status: 'Success' | 'Failure'
  message?: string
  reason?: string
  details?: StatusDetails
  code?: number
}

/** What a delete answers when the object is gone and its kind does not return it (apiserver, store.go finalizeDelete): no code. */
export const deletedStatus = (details: StatusDetails): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details,
})
