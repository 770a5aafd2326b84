/** What a webhook answers to a review, in the words of client-go where that is no answer. */
import type { IncomingMessage } from 'node:http'
import { noKindText, noObjectText } from '#api/decoder-texts.js'
import { goQuote } from '#go/quote.js'
import { JsonSyntaxError, parse } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { decodeType } from '#registry/decode.js'
import { parseYaml } from '#registry/yaml/yaml.js'

export interface Reply {
  readonly code: number
  /** The reason phrase of the code. */
  readonly message: string
  /** The media type without its parameters. */
  readonly type: string
  readonly text: string
}

/** The review that was sent. */
export interface SentReview {
  /** `admission.k8s.io` */
  readonly group: string
  readonly kind: keyof typeof types
  readonly review: JsonObject
}

/** Rejects if the connection breaks or the answer is too long. */
export const readReply = (response: IncomingMessage): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limits.requestBodyBytesMax) response.destroy(new Error('too large an answer'))
      chunks.push(chunk)
    })
    response.on('error', reject)
    response.on('end', () =>
      resolve({
        code: response.statusCode ?? 0,
        message: response.statusMessage ?? '',
        type: (response.headers['content-type'] ?? '').split(';')[0]!.trim(),
        text: Buffer.concat(chunks).toString(),
      }),
    )
  })

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
const types = {
  AdmissionReview: 'io.k8s.api.admission.v1.AdmissionReview',
  ConversionReview: 'io.k8s.api.apiextensions.v1.ConversionReview',
  TokenReview: 'io.k8s.api.authentication.v1.TokenReview',
  SubjectAccessReview: 'io.k8s.api.authorization.v1.SubjectAccessReview',
  ImageReview: 'imagepolicy.v1alpha1.ImageReview',
}

/** Whatever its type says, an answer that does not begin as a JSON object does is read as YAML (apimachinery's json.Serializer). */
const valueIn = (text: string): JsonValue => {
  if (!text.trimStart().startsWith('{')) return parseYaml(text).value
  try {
    // Converted objects may have integers that JSON.parse rounds.
    return parse(text)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new Error(`couldn't get version/kind; json parse error: ${error.message}`)
  }
}

/** The decoder knows the reviews of its group alone, and wants the version that was sent. */
const decode = (reply: Reply, { group, kind, review }: SentReview): JsonObject => {
  if (reply.text === '')
    throw new Error(
      `0-length response with status code: ${reply.code} and content type: ${reply.type || 'application/json'}`,
    )
  const value = valueIn(reply.text)
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

/** Throws a plain Error: whoever asked says whose webhook it is. */
export const reviewOf = (reply: Reply, sent: SentReview): JsonObject => {
  const { code } = reply
  if (code < 200 || code > 206) throw new Error(refusalText(reply), { cause: { code } })
  return decode(reply, sent)
}

/** Sends a review and resolves with it as it was answered; rejects with a plain Error. */
export type AskReview = (sent: SentReview) => Promise<JsonObject>
