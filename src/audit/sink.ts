/** Where records of the audit log go. */
import type { AuditRecord } from './audit-record.js'

/** Whether all of several sinks have kept their records. */
export const allKept = (
  answers: readonly (boolean | Promise<boolean>)[],
): boolean | Promise<boolean> =>
  answers.some((answer) => answer instanceof Promise)
    ? Promise.all(answers).then((all) => all.every(Boolean))
    : answers.every(Boolean)

export interface AuditSink {
  /** False if a record could not be kept. A promise only if the sink has to wait. */
  take(records: readonly AuditRecord[]): boolean | Promise<boolean>
  /** Resolves when everything that was taken is written. */
  close(): Promise<void>
}
