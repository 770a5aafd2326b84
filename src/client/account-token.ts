/**
 * A ServiceAccount's token, asked for when it is needed and again before it expires. The account is made if it is not
 * there. Upstream: controller-manager/pkg/clientbuilder, client_builder_dynamic.go.
 */
import { type Clock, parseTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import { sleep } from '#async/sleep.js'
import type { Client } from './client.js'
import { isAlreadyExists, isNotFound, messageOf } from './errors.js'
import { resources } from './resources.js'

interface TokenRequest extends PersistedObject {
  status: { token: string; expirationTimestamp: string }
}

interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

interface Asking {
  /** May make accounts and tokens. */
  readonly client: Client
  readonly clock: Clock
  /** Ends what is waited for. */
  readonly signal: AbortSignal
}

const lifetimeSeconds = 3_600
/** If it seems to last shorter than this, one of two clocks is wrong. */
const lifetimeMinMs = 600_000
/** The part of its lifetime after which another is asked for. */
const usedPart = 0.8
const retriesMs = [500, 1_000, 2_000]

const makeAccount = async (client: Client, { namespace, name }: ServiceAccountName) => {
  try {
    await client.get(resources.serviceAccounts, { namespace, name })
  } catch (error) {
    if (!isNotFound(error)) throw error
    await client
      .create(resources.serviceAccounts, { metadata: { namespace, name } })
      .catch((refusal) => {
        if (!isAlreadyExists(refusal)) throw refusal
      })
  }
}

export class AccountToken {
  readonly #asking: Asking
  readonly #account: ServiceAccountName
  #known: { readonly token: string; readonly untilMs: number } | undefined
  #next: Promise<string> | undefined

  constructor(asking: Asking, account: ServiceAccountName) {
    this.#asking = asking
    this.#account = account
  }

  async current(): Promise<string> {
    if (this.#known !== undefined && this.#asking.clock.now() < this.#known.untilMs)
      return this.#known.token
    this.#next ??= this.#ask().finally(() => {
      this.#next = undefined
    })
    return this.#next
  }

  /** The server takes it no longer. */
  refused(token: string): void {
    if (this.#known?.token === token) this.#known = undefined
  }

  async #ask(): Promise<string> {
    const { client, clock, signal } = this.#asking
    const { namespace, name } = this.#account
    for (let tries = 0; ; tries++) {
      try {
        await makeAccount(client, this.#account)
        const { status } = await client.create<TokenRequest>(
          resources.serviceAccounts,
          {
            apiVersion: 'authentication.k8s.io/v1',
            kind: 'TokenRequest',
            spec: { expirationSeconds: lifetimeSeconds },
          },
          { namespace, name, subresource: 'token' },
        )
        const now = clock.now()
        const lifetimeMs = Math.max(lifetimeMinMs, parseTime(status.expirationTimestamp) - now)
        this.#known = { token: status.token, untilMs: now + lifetimeMs * usedPart }
        return status.token
      } catch (error) {
        const waitMs = retriesMs[tries]
        if (waitMs === undefined || signal.aborted)
          throw new Error(`failed to get token for ${namespace}/${name}: ${messageOf(error)}`)
        await sleep(waitMs, signal)
      }
    }
  }
}
