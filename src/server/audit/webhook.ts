/** Sends the audit log to a server that a kubeconfig names (apiserver, plugin/pkg/audit/webhook). */

import { sleep } from '#async/sleep.js'
import type { AuditRecord } from '#audit/audit-record.js'
import type { AuditSink } from '#audit/sink.js'
import type { ClientConfig } from '#client/kubeconfig.js'
import { createTransport, type Transport } from '#client/transport.js'
import { limits } from '#limits'
import { webhookUrl, webhookWaitMs } from '../review-webhook.js'

const listOf = (records: readonly AuditRecord[]): string =>
  `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${records.map(({ json }) => json).join(',')}]}\n`

export class AuditWebhook implements AuditSink {
  readonly #transport: Transport
  readonly #path: string
  readonly #timeoutMs: number
  readonly #initialBackoffMs: number
  readonly #warn: (message: string, error: unknown) => void
  readonly #closing: AbortSignal

  /** What waits to be sent again when `closing` fires is sent once more at once. `timeoutMs` is that of one try. */
  constructor(
    config: ClientConfig,
    {
      initialBackoffMs,
      timeoutMs = limits.webhookTimeoutMs,
    }: { initialBackoffMs: number; timeoutMs?: number },
    { closing, warn }: { closing: AbortSignal; warn: (message: string, error: unknown) => void },
  ) {
    this.#closing = closing
    const { origin, pathname, search } = webhookUrl(config, timeoutMs)
    this.#path = `${pathname}${search}`
    this.#transport = createTransport({ ...config, server: origin })
    this.#timeoutMs = timeoutMs
    this.#initialBackoffMs = initialBackoffMs
    this.#warn = warn
  }

  async take(records: readonly AuditRecord[]): Promise<boolean> {
    const body = listOf(records)
    for (let tries = 0; ; tries++) {
      const problem = await this.#post(body).catch((error: unknown) => error)
      if (problem === undefined) return true
      const isLast = tries + 1 >= limits.webhookTriesMax || this.#closing.aborted
      if (isLast) {
        this.#warn(`${records.length} audit events were not sent`, problem)
        return false
      }
      await sleep(webhookWaitMs(this.#initialBackoffMs, tries), this.#closing)
    }
  }

  async close(): Promise<void> {
    this.#transport.close()
  }

  /** Yields nothing when it was taken, else why not. */
  async #post(body: string): Promise<unknown> {
    const answer = await this.#transport.send({
      method: 'POST',
      path: this.#path,
      body,
      // What failed is sent again in any case, but after a pause.
      canRepeat: true,
      headers: { 'content-type': 'application/json', accept: 'application/json, */*' },
      // The end of the answer, too, has to come in time.
      signal: AbortSignal.timeout(this.#timeoutMs),
    })
    const code = answer.statusCode ?? 0
    for await (const _ of answer);
    return code >= 200 && code < 300 ? undefined : new Error(`the server answered ${code}`)
  }
}
