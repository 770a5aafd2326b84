/** What plugins tell the audit log of a request, while it is handled. */
export interface AuditTrail {
  /** Whether the log shows what was sent: levels Request and RequestResponse. */
  readonly showsRequests: boolean
  /** The first value of a key counts (apiserver, pkg/audit AddAuditAnnotation). */
  annotate(key: string, value: string): void
}
