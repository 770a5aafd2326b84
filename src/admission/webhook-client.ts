/** A review sent to a webhook and its answer, in the words of client-go and Go's net packages where that fails. */
import https from 'node:https'
import { isIP } from 'node:net'
import path from 'node:path'
import { noKindText, noObjectText } from '#api/decoder-texts.js'
import { goNetError, urlWithPort } from '#api/go-net-error.js'
import { goQuote } from '#api/go-quote.js'
import { stringify } from '#api/json.js'
import { isJsonObject } from '#api/json-object.js'
import { jsonSyntaxMessage } from '#api/json-syntax.js'
import type { JsonObject, JsonValue } from '#api/object.js'
import { trusted } from '#api/trusted.js'
import { limits } from '#limits'
import { decodeType } from '#registry/decode.js'

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

export interface ReviewCall {
  /** `admission.k8s.io`; the versions of the review that the answer may be in. */
  readonly group: string
  readonly kind: 'AdmissionReview' | 'ConversionReview'
  readonly review: JsonObject
  readonly timeoutSeconds: number
  /** Where the Pods behind a Service can be reached. Throws when there are none. */
  readonly findService: (service: ServiceReference) => Promise<{ host: string; port: number }>
}

const shownUrl = (url: URL): string => (url.hostname.endsWith('.svc') ? urlWithPort(url) : url.href)

/** As client-go's requests join it: `//a/` is `/a`. */
const joinedPath = (pathname: string): string => {
  const joined = path.posix.join('/', pathname.replace(/%2f/gi, '/'))
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

interface Reply {
  readonly code: number
  readonly type: string
  readonly text: string
}

const post = (
  url: URL,
  config: WebhookClientConfig,
  body: string,
  { address, timeoutSeconds }: { address: ReplyAddress | undefined; timeoutSeconds: number },
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const ca = Buffer.from(config.caBundle ?? '', 'base64')
      .toString()
      .trim()
    const request = https.request(
      {
        host: address?.host ?? url.hostname.replace(/^\[|\]$/g, ''),
        port: address?.port ?? (url.port || 443),
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        // A name only: RFC 6066 knows no addresses here.
        ...(isIP(url.hostname) === 0 ? { servername: url.hostname } : {}),
        ...(ca === '' ? {} : trusted(ca)),
        headers: {
          host: url.host,
          'content-type': 'application/json',
          accept: 'application/json, */*',
          'user-agent': 'kube-apiserver-admission',
          'content-length': Buffer.byteLength(body),
        },
        signal: AbortSignal.timeout(timeoutSeconds * 1_000),
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > limits.requestBodyBytesMax) request.destroy(new Error('too large an answer'))
          chunks.push(chunk)
        })
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            code: response.statusCode ?? 0,
            type: (response.headers['content-type'] ?? '').split(';')[0]!.trim(),
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    request.on('error', (error) =>
      reject(new Error(`Post ${goQuote(shownUrl(url))}: ${goNetError(error)}`)),
    )
    request.end(body)
  })

type ReplyAddress = { readonly host: string; readonly port: number }

const messages: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
}

/** What a Status in the body says, whatever the code means. */
const statusText = (text: string): string | undefined => {
  let value: JsonValue
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value) || value.kind !== 'Status' || value.status !== 'Failure')
    return undefined
  return (value.apiVersion ?? 'v1') === 'v1' ? String(value.message ?? '') : undefined
}

/** What a client says of an answer that is no success: client-go's Result.Error, NewGenericServerResponse of apimachinery. */
const refusalText = ({ code, type, text }: Reply): string => {
  const status = statusText(text)
  if (status !== undefined) return status
  const said =
    type === '' || type.startsWith('text/')
      ? text.slice(0, limits.webhookAnswerShownBytesMax).trim()
      : 'unknown'
  const known = messages[code]
  if (known !== undefined) return known
  if (code === 403 || code === 406 || code === 415) return said
  if (code >= 500)
    return `an error on the server (${goQuote(said)}) has prevented the request from succeeding`
  return `the server responded with the status code ${code} but did not return more information`
}

/** All versions of a review have the same fields. */
const types: Readonly<Record<ReviewCall['kind'], string>> = {
  AdmissionReview: 'io.k8s.api.admission.v1.AdmissionReview',
  ConversionReview: 'io.k8s.api.apiextensions.v1.ConversionReview',
}

/** The decoder knows the reviews of its group alone, and wants the version that was sent. */
const decode = (reply: Reply, { group, kind, review }: ReviewCall): JsonObject => {
  if (reply.text === '')
    throw new Error(
      `0-length response with status code: ${reply.code} and content type: ${reply.type || 'application/json'}`,
    )
  let value: JsonValue
  try {
    value = JSON.parse(reply.text)
  } catch {
    const text = reply.text.trimStart()
    if (text.startsWith('{'))
      throw new Error(`couldn't get version/kind; json parse error: ${jsonSyntaxMessage(text)}`)
    // Text that is no JSON is read as YAML, which makes a string of it.
    value = reply.text
  }
  if (value !== null && !isJsonObject(value)) throw new Error(noObjectText(value))
  const answer = value ?? {}
  const sent = review.apiVersion as string
  const apiVersion = String(answer.apiVersion ?? '') || sent
  const answered = String(answer.kind ?? '') || kind
  if (apiVersion === sent && answered === kind) return decodeType(types[kind], answer).value
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  const isKnown = apiVersion === `${group}/v1` || apiVersion === `${group}/v1beta1`
  throw new Error(
    answered === kind && isKnown
      ? `converting (${version}.${kind}) to (${sent.slice(sent.indexOf('/') + 1)}.${kind}): unknown conversion`
      : noKindText(answered, apiVersion),
  )
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
  const reply = await post(url, config, stringify(call.review), {
    address,
    timeoutSeconds: call.timeoutSeconds,
  })
  if (reply.code < 200 || reply.code > 206) throw new Error(refusalText(reply))
  return decode(reply, call)
}
