/** A review sent to a webhook and its answer, in the words of client-go and Go's net packages where that fails. */
import https from 'node:https'
import { isIP } from 'node:net'
import path from 'node:path'
import { goNetError, urlWithPort } from '#go/net-error.js'
import { goQuote } from '#go/quote.js'
import { stringify } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { cameTooLate } from '#net/came-too-late.js'
import {
  authorizationOf,
  type ClientCredentials,
  impersonationOf,
} from '#net/client-credentials.js'
import { dialOptions } from '#net/dial-options.js'
import { trusted } from '#net/trusted.js'
import { urlHost } from '#net/url-host.js'
import { type Reply, readReply, reviewOf, type SentReview } from './review-answer.js'
import { ownConnections } from './trusting-agent.js'

export interface ServiceReference {
  readonly namespace: string
  readonly name: string
  readonly path?: string
  readonly port?: number
}

export interface WebhookClientConfig {
  readonly url?: string
  readonly service?: ServiceReference
  /** Base64 of PEM. */
  readonly caBundle?: string
}

export interface ReviewCall extends SentReview {
  /** How long the webhook is told that it may take; `signal` enforces it. */
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
  /** Missing: the review has a connection of its own. */
  readonly agent?: https.Agent | undefined
  /** The server's credentials for it. Undefined: none are shown. */
  readonly credentials?: ClientCredentials | undefined
  /** Where the Pods behind a Service can be reached. Throws when there are none. */
  readonly findService: (service: ServiceReference) => Promise<{ host: string; port: number }>
}

const shownUrl = (url: URL): string => (url.hostname.endsWith('.svc') ? urlWithPort(url) : url.href)

/** As client-go's requests join it: `//a/` is `/a`. */
const joinedPath = (pathname: string): string => {
  const joined = path.posix.join('/', pathname.replace(/%2f/gi, '/'))
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

const post = (url: URL, config: WebhookClientConfig, call: AddressedCall): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { review, address, signal, credentials = {}, agent } = call
    const ca = Buffer.from(config.caBundle ?? '', 'base64')
      .toString()
      .trim()
    const body = stringify(review)
    const { cert, key } = credentials
    const host = urlHost(url)
    const request = https.request(
      {
        host: address?.host ?? host,
        port: address?.port ?? (url.port || 443),
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        // A name only: RFC 6066 knows no addresses here.
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...trusted(ca),
        ...dialOptions,
        ...(cert && { cert }),
        ...(key && { key }),
        headers: {
          ...authorizationOf(credentials),
          ...impersonationOf(credentials),
          host: url.host,
          'content-type': 'application/json',
          accept: 'application/json, */*',
          'user-agent': 'kube-apiserver-admission',
          'content-length': Buffer.byteLength(body),
        },
        signal,
        agent: agent ?? ownConnections,
      },
      (response) => resolve(readReply(response)),
    )
    request.on('error', (error) => {
      // Webhooks have to stand being asked twice: reinvocation does it, too.
      if (cameTooLate(request, error)) resolve(post(url, config, { ...call, agent: undefined }))
      else reject(new Error(`Post ${goQuote(shownUrl(url))}: ${goNetError(error)}`))
    })
    request.end(body)
  })

interface AddressedCall extends ReviewCall {
  /** Its address, if that is not where its name leads. */
  readonly address: { readonly host: string; readonly port: number } | undefined
}

/** Rejects with a plain Error: whoever asked says whose webhook it is. */
export const sendReview = async (
  config: WebhookClientConfig,
  call: ReviewCall,
): Promise<JsonObject> => {
  const { service } = config
  const url =
    service === undefined
      ? new URL(config.url ?? '')
      : new URL(
          `https://${service.name}.${service.namespace}.svc:${service.port ?? 443}${service.path ?? ''}`,
        )
  url.pathname = joinedPath(url.pathname)
  url.searchParams.set('timeout', `${call.timeoutSeconds}s`)
  const address =
    service === undefined
      ? undefined
      : await call.findService(service).catch((error: Error) => {
          throw new Error(`Post ${goQuote(shownUrl(url))}: ${error.message}`)
        })
  const reply = await post(url, config, { ...call, address })
  return reviewOf(reply, call)
}
