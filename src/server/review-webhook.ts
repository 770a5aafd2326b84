/** Sends reviews to a server that a kubeconfig names (apiserver, pkg/util/webhook). */
import type { IncomingMessage } from 'node:http'
import { sleep } from '#async/sleep.js'
import type { ClientConfig } from '#client/kubeconfig.js'
import { systemRandom } from '#client/random.js'
import { createTransport, type Transport } from '#client/transport.js'
import { printedDuration } from '#go/duration.js'
import { goNetError } from '#go/net-error.js'
import { goQuote } from '#go/quote.js'
import { trimRight } from '#go/trim-right.js'
import { stringify } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { readReply, reviewOf, type SentReview } from '#webhook/review-answer.js'

/** Each wait is 1.5 times the one before, plus up to a fifth of jitter. */
export const webhookWaitMs = (initialMs: number, tries: number): number =>
  initialMs * 1.5 ** tries * (1 + 0.2 * systemRandom())

/** Where it is asked: client-go keeps neither a query of the server nor a slash at the end. */
export const webhookUrl = ({ server }: ClientConfig, timeoutMs: number): URL => {
  const url = new URL(server)
  url.pathname = trimRight(url.pathname, '/')
  url.search = `?timeout=${printedDuration(timeoutMs)}`
  return url
}

const isTransient = ({ statusCode = 0, headers }: IncomingMessage): boolean =>
  statusCode === 500 ||
  statusCode === 504 ||
  statusCode === 429 ||
  headers['retry-after'] !== undefined

/** Not a connection that was closed cleanly before the answer: Go sees an EOF there, which it does not retry. */
const wasReset = (error: unknown): boolean => {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'ECONNRESET' && syscall !== undefined
}

export class ReviewWebhook {
  readonly #transport: Transport
  readonly #url: URL
  readonly #timeoutMs: number
  readonly #path: string
  readonly #initialBackoffMs: number
  readonly #closing = new AbortController()
  readonly #asking = new Set<Promise<JsonObject>>()

  /** `timeoutMs` is that of one try. */
  constructor(
    config: ClientConfig,
    {
      timeoutMs = limits.webhookTimeoutMs,
      initialBackoffMs = limits.webhookBackoffMs,
    }: { timeoutMs?: number; initialBackoffMs?: number } = {},
  ) {
    this.#url = webhookUrl(config, timeoutMs)
    this.#timeoutMs = timeoutMs
    this.#path = `${this.#url.pathname}${this.#url.search}`
    this.#initialBackoffMs = initialBackoffMs
    this.#transport = createTransport({ ...config, server: this.#url.origin })
  }

  /** The answered review. Rejects with a plain Error, which the caller interprets. */
  async ask(sent: SentReview): Promise<JsonObject> {
    const answer = this.#ask(sent)
    this.#asking.add(answer)
    try {
      return await answer
    } finally {
      this.#asking.delete(answer)
    }
  }

  async #ask(sent: SentReview): Promise<JsonObject> {
    const body = stringify(sent.review)
    for (let tries = 1; ; tries++) {
      const isLast = tries === limits.webhookTriesMax || this.#closing.signal.aborted
      try {
        const response = await this.#post(body)
        const reply = await readReply(response)
        if (isLast || !isTransient(response)) return reviewOf(reply, sent)
      } catch (error) {
        if (isLast || !wasReset((error as Error).cause)) throw error
      }
      await sleep(webhookWaitMs(this.#initialBackoffMs, tries - 1), this.#closing.signal)
    }
  }

  close(): void {
    this.#closing.abort()
    this.#transport.close()
  }

  /** Closes when nothing is being asked. Who asks later still is answered, on a connection of its own. */
  async closeWhenIdle(): Promise<void> {
    while (this.#asking.size > 0) await Promise.allSettled(this.#asking)
    this.close()
  }

  #post(body: string): Promise<IncomingMessage> {
    return this.#transport
      .send({
        method: 'POST',
        path: this.#path,
        body,
        canRepeat: true,
        headers: { 'content-type': 'application/json', accept: 'application/json, */*' },
        signal: AbortSignal.timeout(Math.ceil(this.#timeoutMs)),
      })
      .catch((error: Error) => {
        const message = `Post ${goQuote(this.#url.href)}: ${goNetError(error)}`
        throw new Error(message, { cause: error })
      })
  }
}
