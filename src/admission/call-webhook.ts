/** One call of an admission webhook: AdmissionReview out, AdmissionReview in, in upstream's words when it fails. */
import { randomUUID } from 'node:crypto'
import https from 'node:https'
import { isIP } from 'node:net'
import { type ApiError, failure, internalError } from '#api/errors.js'
import { stringify } from '#api/json.js'
import type { JsonObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { listObjects } from './plugin.js'
import { admissionRequest } from './request-match.js'

export interface Webhook {
  readonly name: string
  readonly clientConfig: {
    readonly url?: string
    readonly service?: { namespace: string; name: string; path?: string; port?: number }
    readonly caBundle?: string
  }
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

/** Largest answer that is read. */
const answerBytesMax = 3 * 1024 * 1024

interface Target {
  url: URL
  /** Where to connect when the name in the URL has no address outside of a cluster network. */
  address?: { host: string; port: number }
}

const serviceTarget = async (
  { ctx }: AdmissionAttributes,
  service: NonNullable<Webhook['clientConfig']['service']>,
): Promise<Target> => {
  const { namespace, name, path = '', port = 443 } = service
  const url = new URL(`https://${name}.${namespace}.svc:${port}${path}`)
  const slices = await listObjects(
    ctx,
    { group: 'discovery.k8s.io', resource: 'endpointslices' },
    namespace,
  )
  const own = slices.filter((s) => s.metadata.labels?.['kubernetes.io/service-name'] === name)
  for (const slice of own) {
    const ready = (slice.endpoints ?? []).find(
      (e: { conditions?: { ready?: boolean } }) => e.conditions?.ready !== false,
    )
    const targetPort = slice.ports?.[0]?.port
    if (ready !== undefined && targetPort !== undefined)
      return { url, address: { host: ready.addresses[0], port: targetPort } }
  }
  throw new Error(`no endpoints available for service ${JSON.stringify(name)}`)
}

/** Node's error in the words of Go's net package. */
const goError = (error: NodeJS.ErrnoException & { address?: string; port?: number }): string => {
  const at = `dial tcp ${error.address ?? ''}:${error.port ?? ''}`
  if (error.code === 'ECONNREFUSED') return `${at}: connect: connection refused`
  if (error.code === 'ETIMEDOUT' || error.name === 'AbortError') return 'context deadline exceeded'
  return error.message
}

const post = (target: Target, body: string, webhook: Webhook): Promise<string> =>
  new Promise((resolve, reject) => {
    const { url, address } = target
    const ca = webhook.clientConfig.caBundle
    const request = https.request(
      {
        host: address?.host ?? url.hostname,
        port: address?.port ?? (url.port || 443),
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        // A name only: RFC 6066 knows no addresses here.
        ...(isIP(url.hostname) === 0 ? { servername: url.hostname } : {}),
        ca: ca ? Buffer.from(ca, 'base64').toString() : undefined,
        headers: {
          host: url.host,
          'content-type': 'application/json',
          accept: 'application/json',
          'content-length': Buffer.byteLength(body),
        },
        signal: AbortSignal.timeout((webhook.timeoutSeconds ?? 10) * 1_000),
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > answerBytesMax) request.destroy(new Error('the answer is too large'))
          chunks.push(chunk)
        })
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const { statusCode = 0 } = response
          if (statusCode >= 200 && statusCode < 300) resolve(text)
          else reject(new Error(`the server rejected our request for an unknown reason: ${text}`))
        })
      },
    )
    request.on('error', (error) => {
      const shown = new URL(url)
      reject(new Error(`Post ${JSON.stringify(shown.toString())}: ${goError(error)}`))
    })
    request.end(body)
  })

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
  const { url: text, service } = webhook.clientConfig
  const target: Target =
    service === undefined ? { url: new URL(text ?? '') } : await serviceTarget(attributes, service)
  target.url.searchParams.set('timeout', `${webhook.timeoutSeconds ?? 10}s`)
  const uid = randomUUID()
  const version = webhook.admissionReviewVersions?.includes('v1') === false ? 'v1beta1' : 'v1'
  const answer = await post(target, stringify(reviewOf(attributes, uid, version)), webhook)
  const response = (JSON.parse(answer) as { response?: WebhookAnswer & { uid?: string } }).response
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
