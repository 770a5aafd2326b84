/**
 * The audit log on standard output. A request waits for a reader that is slow, as where kube-apiserver's write blocks: what
 * is written at once to a pipe that is full would be lost in the middle of a line.
 */
import type { AuditRecord, LogFormat } from './audit-record.js'
import type { AuditSink } from './sink.js'

export class StandardOutput implements AuditSink {
  readonly #format: LogFormat
  readonly #warn: (message: string, error: unknown) => void
  #written: Promise<unknown> = Promise.resolve()

  constructor(format: LogFormat, warn: (message: string, error: unknown) => void) {
    this.#format = format
    this.#warn = warn
  }

  take(records: readonly AuditRecord[]): Promise<boolean> {
    const text = records.map((record) => record.lineOf(this.#format)).join('')
    const isKept = new Promise<boolean>((resolve) => {
      process.stdout.write(text, (error) => {
        if (error) this.#warn('audit events were not written', error)
        resolve(!error)
      })
    })
    // In order: when the last one is written, so are all.
    this.#written = isKept
    return isKept
  }

  async close(): Promise<void> {
    await this.#written
  }
}
