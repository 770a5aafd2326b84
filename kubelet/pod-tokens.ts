/** Tokens of service accounts, bound to Pods (upstream: pkg/kubelet/token). */
import type { Clock } from '#api/clock.js'
import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { resources } from '#client/resources.js'
import type { Pod } from './pod.js'

interface ServiceAccountToken {
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}
interface WantedToken {
  /** The API server's own without one. */
  readonly audience?: string
  /** An hour without. */
  readonly expirationSeconds?: number
}
interface PodTokensOptions {
  readonly client: Pick<Client, 'create'>
  readonly clock: Clock
  readonly log: Log
}

/** A token is renewed when this part of its life is over, or after a day. */
const renewalPart = 0.8
const renewalMs = 24 * 60 * 60 * 1000

export class PodTokens {
  readonly #options: PodTokensOptions
  /** By uid of the Pod, and what was wanted. */
  readonly #kept = new Map<string, ServiceAccountToken & { readonly renewAt: number }>()

  constructor(options: PodTokensOptions) {
    this.#options = options
  }

  /** One that cannot be renewed is given as long as it is good. */
  async get(pod: Pod, wanted: WantedToken): Promise<ServiceAccountToken> {
    const { clock, log } = this.#options
    const { audience = '', expirationSeconds = 3600 } = wanted
    const key = `${pod.metadata.uid}/${audience}/${expirationSeconds}`
    const now = clock.now()
    const kept = this.#kept.get(key)
    if (kept && now < kept.renewAt) return kept
    try {
      const made = await this.#request(pod, { audience, expirationSeconds })
      const lifeMs = made.expiresAt - now
      const renewAt = now + Math.min(lifeMs * renewalPart, renewalMs)
      this.#kept.set(key, { ...made, renewAt })
      return made
    } catch (error) {
      if (!kept || now > kept.expiresAt) throw error
      log.warn({ uid: pod.metadata.uid, error: messageOf(error) }, 'a token was not renewed')
      return kept
    }
  }

  forget(podUid: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(`${podUid}/`)) this.#kept.delete(key)
  }

  async #request(
    { metadata, spec }: Pod,
    { audience, expirationSeconds }: Required<WantedToken>,
  ): Promise<ServiceAccountToken> {
    const { namespace, name, uid } = metadata
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { namespace },
      spec: {
        expirationSeconds,
        ...(audience ? { audiences: [audience] } : {}),
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
      },
    }
    const account = spec.serviceAccountName || 'default'
    const at = { namespace, name: account, subresource: 'token' }
    const { status } = await this.#options.client.create(resources.serviceAccounts, request, at)
    return { token: status.token, expiresAt: Date.parse(status.expirationTimestamp) }
  }
}
