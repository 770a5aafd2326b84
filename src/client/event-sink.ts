/** Where the Events of a process go: one after the other, each until the server has taken or refused it. */
import { randomInt, randomUUID } from 'node:crypto'
import { ApiError } from '#api/errors.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import { limits } from '#limits'
import type { Client } from './client.js'
import { isAlreadyExists, isTooManyRequests, messageOf } from './errors.js'
import type { Log } from './log.js'
import { systemRandom } from './random.js'
import type { ResourceRef } from './resources.js'

export interface EventSubject {
  kind: string
  apiVersion: string
  metadata: { name?: string; namespace?: string; uid?: string; resourceVersion?: string }
}

/** Upstream's GetReference. */
export const referenceTo = ({ kind, apiVersion, metadata }: EventSubject) => {
  const { namespace, name = '', uid = '', resourceVersion } = metadata
  return {
    kind,
    apiVersion,
    name,
    uid,
    ...(namespace ? { namespace } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
  }
}

export interface EventBody extends KubeObject {
  metadata: { name: string; namespace: string; annotations?: Readonly<Record<string, string>> }
}

/** Nobody else takes its name: one that is there is ours, and only the answer was lost. */
export const createEvent = async (
  client: Client,
  ref: ResourceRef,
  body: EventBody,
): Promise<void> => {
  const { namespace } = body.metadata
  await client.create(ref, body, { namespace }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error
  })
}

/** A refusal would be repeated; what did not reach the server, or comes at a bad time for it, is tried again (client-go, recordEvent). */
const isFinal = (error: unknown): boolean => error instanceof ApiError && !isTooManyRequests(error)

interface EventSinkOptions {
  log: Log
  /** Pause before an Event is tried again. Default: client-go's. */
  retryMs?: number | undefined
}

export class EventSink {
  readonly #log: Log
  readonly #retryMs: number
  readonly #ending = new AbortController()
  #waiting = 0
  #tail: Promise<void> = Promise.resolve()
  /** Not from zero: what another process tells of the same object in the same millisecond has another name. */
  #sequence = randomInt(1_000_000)

  constructor({ log, retryMs = 10_000 }: EventSinkOptions) {
    this.#log = log
    this.#retryMs = retryMs
  }

  get isFull(): boolean {
    return this.#waiting >= limits.eventsWaitingMax
  }

  /** Differs between Events of one millisecond, too; upstream has nanoseconds there. Of a long name another is made. */
  nameOf({ metadata }: EventSubject, nowMs: number): string {
    const nanoseconds = BigInt(nowMs) * 1_000_000n + BigInt(this.#sequence++ % 1_000_000)
    const name = `${metadata.name ?? ''}.${nanoseconds.toString(16)}`
    return isDns1123Subdomain(name).length === 0 ? name : randomUUID()
  }

  /** `attempt` is called when those before are written or dropped, maybe several times. */
  add(reason: string, attempt: () => Promise<void>): void {
    this.#waiting++
    this.#tail = this.#tail
      .then(() => this.#write(attempt))
      .catch((error) =>
        this.#log.debug({ reason, error: messageOf(error) }, 'event was not recorded'),
      )
      .finally(() => this.#waiting--)
  }

  /** As `flush` of a recorder. */
  flush(): Promise<void> {
    this.#ending.abort()
    return this.#tail
  }

  async #write(attempt: () => Promise<void>): Promise<void> {
    const { signal } = this.#ending
    for (let tries = 1; ; tries++) {
      try {
        return await attempt()
      } catch (error) {
        if (isFinal(error) || tries === limits.eventTriesMax || signal.aborted) throw error
      }
      // Not all recorders at once, when a server is there again.
      const ms = tries === 1 ? this.#retryMs * systemRandom() : this.#retryMs
      await sleep(ms, signal, { ref: false })
    }
  }
}
