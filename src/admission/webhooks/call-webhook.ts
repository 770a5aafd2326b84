/** One call of an admission webhook: AdmissionReview out, AdmissionReview in, in upstream's words when it fails. */
import { randomUUID } from 'node:crypto'
import type https from 'node:https'
import { ApiError, failure, internalError } from '#api/errors.js'
import type { Status } from '#api/status.js'
import { withinTime } from '#async/within-time.js'
import { goQuote } from '#go/quote.js'
import type { JsonObject } from '#json/value.js'
import type { ClientCredentials } from '#net/client-credentials.js'
import { sendReview, type WebhookClientConfig } from '#webhook/webhook-client.js'
import { findService } from '../find-service.js'
import { admissionRequest } from '../request-match.js'
import type { VersionedRequest } from '../versioned-request.js'
import type { WebhookFigures } from './webhook-figures.js'

export interface Webhook {
  readonly name: string
  readonly clientConfig: WebhookClientConfig
  readonly timeoutSeconds?: number
  readonly failurePolicy?: string
  readonly sideEffects?: string
  readonly admissionReviewVersions?: readonly string[]
}

export interface WebhookAnswer {
  readonly allowed: boolean
  readonly status?: Partial<Status>
  /** Base64 of a JSON patch. */
  readonly patch?: string | null
  readonly patchType?: string | null
  readonly warnings?: readonly string[]
  readonly auditAnnotations?: Readonly<Record<string, string>> | null
}

const reviewOf = (attributes: VersionedRequest, uid: string, version: string): JsonObject => {
  const { dryRun, options, ...request } = admissionRequest(attributes, uid)
  const object = attributes.object ?? null
  const oldObject = attributes.oldObject ?? null
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: { ...request, object, oldObject, dryRun, options } as unknown as JsonObject,
  }
}

const invalidResponse = (why: string) => new Error(`received invalid webhook response: ${why}`)

const checkPatch = ({ patch, patchType }: WebhookAnswer, mutating: boolean): void => {
  const hasPatch = patch !== undefined && patch !== null && patch !== ''
  const hasType = patchType !== undefined && patchType !== null
  if (!mutating && hasPatch)
    throw invalidResponse('validating webhook may not return response.patch')
  if (!mutating && hasType)
    throw invalidResponse('validating webhook may not return response.patchType')
  if (hasPatch && !hasType)
    throw invalidResponse('webhook returned response.patch but not response.patchType')
  if (!hasPatch && hasType)
    throw invalidResponse('webhook returned response.patchType but not response.patch')
  if (patchType === '') throw invalidResponse('webhook returned invalid response.patchType of ""')
}

/** Upstream's VerifyAdmissionResponse; v1beta1 was never strict. */
const verify = (
  answer: JsonObject,
  { uid, version, mutating }: { uid: string; version: string; mutating: boolean },
): WebhookAnswer => {
  const response = answer.response as unknown as
    | (WebhookAnswer & { readonly uid?: string })
    | null
    | undefined
  if (response === undefined || response === null)
    throw invalidResponse('webhook response was absent')
  if (version !== 'v1') return { ...response, patchType: 'JSONPatch' }
  const given = response.uid ?? ''
  if (given !== uid)
    throw invalidResponse(`expected response.uid=${goQuote(uid)}, got ${goQuote(given)}`)
  const kind = `${answer.apiVersion ?? '/'}, Kind=${answer.kind ?? ''}`
  const wanted = `admission.k8s.io/${version}, Kind=AdmissionReview`
  if (kind !== wanted) throw invalidResponse(`expected webhook response of ${wanted}, got ${kind}`)
  checkPatch(response, mutating)
  return response
}

/** The server's credentials for a webhook at `host:port`. */
export type CredentialsOfHost = (host: string) => ClientCredentials | undefined

const hostOf = ({ url = '', service }: WebhookClientConfig): string => {
  if (service !== undefined)
    return `${service.name}.${service.namespace}.svc:${service.port ?? 443}`
  const { host, port } = new URL(url)
  return port === '' ? `${host}:443` : host
}

const failedCall = ({ message, cause }: Error): never => {
  throw new Error(`failed to call webhook: ${message}`, { cause })
}

/** Of a failed call: that of the answer, or 503 where there was none, or none of use. */
export const codeOfFailure = (error: unknown): number => {
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown }
  return typeof code === 'number' ? code : 503
}

/** How webhooks are asked. */
export interface WebhookAccess {
  /** Undefined: the server shows credentials to no webhook. */
  readonly credentialsOf?: CredentialsOfHost | undefined
  /** As in ReviewCall. */
  readonly agent?: https.Agent | undefined
  /** Where calls are counted. */
  readonly figures?: WebhookFigures | undefined
}

/** Rejects with a plain Error when the webhook cannot be asked or answers nonsense. */
export const callWebhook = async (
  webhook: Webhook,
  attributes: VersionedRequest,
  { mutating, access }: { mutating: boolean; access: WebhookAccess },
): Promise<WebhookAnswer> => {
  const uid = randomUUID()
  const version = webhook.admissionReviewVersions?.find((v) => v === 'v1' || v === 'v1beta1')
  if (version === undefined)
    throw new Error(
      'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)',
    )
  const { ctx } = attributes
  const ownMs = (webhook.timeoutSeconds ?? 10) * 1_000
  const toldMs = Math.min(ownMs, ctx.caller.timeLeftMs?.() ?? ownMs)
  const answer = await withinTime(ctx.caller.signal, ownMs, (signal) =>
    sendReview(webhook.clientConfig, {
      group: 'admission.k8s.io',
      kind: 'AdmissionReview',
      review: reviewOf(attributes, uid, version),
      timeoutSeconds: Math.ceil(toldMs / 1_000),
      signal,
      credentials: access.credentialsOf?.(hostOf(webhook.clientConfig)),
      agent: access.agent,
      findService: (service) => findService(ctx, service),
    }),
  ).catch(failedCall)
  return verify(answer, { uid, version, mutating })
}

/** The call failed. With failurePolicy Ignore the request is not refused for it. */
export const webhookFailed = (webhook: Webhook, error: unknown): ApiError =>
  internalError(`failed calling webhook ${goQuote(webhook.name)}: ${(error as Error).message}`)

/** A webhook has refused the request. */
export class WebhookDenial extends ApiError {}

/** The Status is the webhook's own, except that a refusal is always one (webhook/errors/statuserror.go). */
export const webhookDenied = (webhook: Webhook, { status }: WebhookAnswer): WebhookDenial => {
  const who = `admission webhook ${goQuote(webhook.name)} denied the request`
  const { metadata = {}, status: given, message, reason, details, code = 0 } = status ?? {}
  const why = message ? `: ${message}` : reason ? `: ${reason}` : ' without explanation'
  return new WebhookDenial({
    kind: 'Status',
    apiVersion: 'v1',
    metadata,
    status: given && given !== 'Success' ? given : 'Failure',
    message: `${who}${why}`,
    ...(reason && { reason }),
    ...(details && { details }),
    code: Math.max(code, 400),
  })
}

/** A dry run may only ask webhooks that promise to have no effect then. */
export const dryRunUnsupported = (webhook: Webhook): ApiError =>
  failure({
    code: 400,
    reason: 'BadRequest',
    message: `admission webhook ${goQuote(webhook.name)} does not support dry run`,
  })
