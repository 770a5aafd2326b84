/** One call of an admission webhook: AdmissionReview out, AdmissionReview in, in upstream's words when it fails. */
import { randomUUID } from 'node:crypto'
import { type ApiError, failure, internalError } from '#api/errors.js'
import type { JsonObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { findService } from './find-service.js'
import { admissionRequest } from './request-match.js'
import { sendReview, type WebhookClientConfig } from './webhook-client.js'

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
  readonly status?: JsonObject
  /** Base64 of a JSON patch. */
  readonly patch?: string
  readonly warnings?: readonly string[]
}

const reviewOf = (attributes: AdmissionAttributes, uid: string, version: string): JsonObject => ({
  kind: 'AdmissionReview',
  apiVersion: `admission.k8s.io/${version}`,
  request: {
    ...admissionRequest(attributes, uid),
    object: attributes.operation === 'DELETE' ? null : (attributes.object ?? null),
    oldObject: attributes.oldObject ?? null,
  } as unknown as JsonObject,
})

/** Rejects with a plain Error when the webhook cannot be asked or answers nonsense. */
export const callWebhook = async (
  webhook: Webhook,
  attributes: AdmissionAttributes,
): Promise<WebhookAnswer> => {
  const uid = randomUUID()
  const version = webhook.admissionReviewVersions?.find((v) => v === 'v1' || v === 'v1beta1')
  if (version === undefined)
    throw new Error('webhook does not accept known AdmissionReview versions (v1, v1beta1)')
  const answer = await sendReview(webhook.clientConfig, {
    group: 'admission.k8s.io',
    kind: 'AdmissionReview',
    review: reviewOf(attributes, uid, version),
    timeoutSeconds: webhook.timeoutSeconds ?? 10,
    findService: (service) => findService(attributes.ctx, service),
  })
  const response = (answer as { response?: WebhookAnswer & { uid?: string } }).response
  if (response === undefined) throw new Error('webhook response is absent')
  if (version === 'v1' && response.uid !== uid)
    throw new Error(
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? '')}`,
    )
  return response
}

/** Nobody could be asked; with failurePolicy Ignore that is no reason to refuse. */
export const webhookFailed = (webhook: Webhook, error: unknown): ApiError =>
  internalError(
    `failed calling webhook ${JSON.stringify(webhook.name)}: failed to call webhook: ${(error as Error).message}`,
  )

export const webhookDenied = (webhook: Webhook, { status = {} }: WebhookAnswer): ApiError => {
  const who = `admission webhook ${JSON.stringify(webhook.name)} denied the request`
  const {
    message = '',
    reason = '',
    code = 0,
  } = status as {
    message?: string
    reason?: string
    code?: number
  }
  const why =
    message !== '' ? `: ${message}` : reason !== '' ? `: ${reason}` : ' without explanation'
  return failure({
    code: code > 0 ? code : 400,
    ...(reason === '' ? {} : { reason }),
    message: `${who}${why}`,
  })
}

/** A dry run may only ask webhooks that promise to have no effect then. */
export const dryRunUnsupported = (webhook: Webhook): ApiError =>
  failure({
    code: 400,
    reason: 'BadRequest',
    message: `admission webhook ${JSON.stringify(webhook.name)} does not support dry run`,
  })
