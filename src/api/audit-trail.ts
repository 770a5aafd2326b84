/** Where plugins note things for the audit log while a request is handled. */
export interface AuditTrail {
  /** Whether the log shows what was sent: levels Request and RequestResponse. */
  readonly showsRequests: boolean
  /** The first value of a key wins (apiserver, pkg/audit AddAuditAnnotation). */
  annotate(key: string, value: string): void
}
