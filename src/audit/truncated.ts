/**
 * Removes request and response objects from events that are too large; those that still are too large are dropped
 * (apiserver, plugin/pkg/audit/truncate).
 */
import type { AuditRecord } from './audit-record.js'
import { type AuditSink, allKept } from './sink.js'

export interface TruncateOptions {
  /** Bytes of one event, and of those that go at once. */
  readonly maxEventSize: number
  readonly maxBatchSize: number
}

export class Truncated implements AuditSink {
  readonly #to: AuditSink
  readonly #options: TruncateOptions
  readonly #dropped: (count: number) => void

  constructor(to: AuditSink, options: TruncateOptions, dropped: (count: number) => void) {
    this.#to = to
    this.#options = options
    this.#dropped = dropped
  }

  take(records: readonly AuditRecord[]): boolean | Promise<boolean> {
    return allKept(this.#batches(records).map((batch) => this.#to.take(batch)))
  }

  close(): Promise<void> {
    return this.#to.close()
  }

  #batches(records: readonly AuditRecord[]): AuditRecord[][] {
    const { maxEventSize, maxBatchSize } = this.#options
    const batches: AuditRecord[][] = []
    let bytes = 0
    let dropped = 0
    for (const given of records) {
      const record = given.bytes > maxEventSize ? (given.truncated() ?? given) : given
      if (record.bytes > maxEventSize) {
        dropped++
        continue
      }
      if (batches.length === 0 || bytes + record.bytes > maxBatchSize) {
        batches.push([])
        bytes = 0
      }
      bytes += record.bytes
      batches[batches.length - 1]!.push(record)
    }
    if (dropped > 0) this.#dropped(dropped)
    return batches
  }
}
