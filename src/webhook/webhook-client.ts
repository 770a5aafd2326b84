/** A review sent to a webhook and its answer, in the words of client-go and Go's net packages where that fails. */
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import path from 'node:path'
import { goNetError, urlWithPort } from '#go/net-error.js'
import { goQuote } from '#go/quote.js'
import { stringify } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { cameTooLate } from '#net/came-too-late.js'
import {
  authorizationOf,
  type ClientCredentials,
  impersonationOf,
} from '#net/client-credentials.js'
import { dialOptions } from '#net/dial-options.js'
import { keepsMethod, mayHaveCredentials, movedTo, tooManyMoves } from '#net/redirect.js'
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

/** Go names the first method, and the URL that was asked last. */
const failed = (url: string, why: string): Error => new Error(`Post ${goQuote(url)}: ${why}`)

interface AddressedCall extends ReviewCall {
  readonly config: WebhookClientConfig
  /** Its address, if that is not where its name leads. */
  readonly address: { readonly host: string; readonly port: number } | undefined
  readonly method: 'POST' | 'GET'
  readonly movesLeft: number
}

const send = (url: URL, call: AddressedCall): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { config, review, address, method, signal, credentials = {}, agent } = call
    const ca = Buffer.from(config.caBundle ?? '', 'base64')
      .toString()
      .trim()
    const body = method === 'GET' ? '' : stringify(review)
    const { cert, key } = credentials
    const host = urlHost(url)
    const request = https.request(
      {
        host: address?.host ?? host,
        port: address?.port ?? (url.port || 443),
        path: `${url.pathname}${url.search}`,
        method,
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
          ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
          accept: 'application/json, */*',
          'user-agent': 'kube-apiserver-admission',
          'content-length': Buffer.byteLength(body),
        },
        signal,
        agent: agent ?? ownConnections,
      },
      (response) => resolve(follow(response, url, call)),
    )
    request.on('error', (error) => {
      // Webhooks have to stand being asked twice: reinvocation does it, too.
      if (cameTooLate(request, error)) resolve(send(url, { ...call, agent: undefined }))
      else reject(failed(shownUrl(url), goNetError(error)))
    })
    request.end(body)
  })

/** The answer, or that of the place where it is instead. */
const follow = async (response: IncomingMessage, url: URL, call: AddressedCall): Promise<Reply> => {
  const moved = movedTo(response, url.href)
  if (moved?.protocol !== 'https:') return readReply(response)
  response.resume()
  if (call.movesLeft === 0) throw failed(response.headers.location!, tooManyMoves)
  return send(moved, {
    ...call,
    agent: undefined,
    address: moved.host === url.host ? call.address : undefined,
    credentials: mayHaveCredentials(moved, url.href) ? call.credentials : undefined,
    method: keepsMethod(response) ? call.method : 'GET',
    movesLeft: call.movesLeft - 1,
  })
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
          throw failed(shownUrl(url), error.message)
        })
  const movesLeft = limits.redirectsMax - 1
  const reply = await send(url, { ...call, config, address, method: 'POST', movesLeft })
  return reviewOf(reply, call)
}
