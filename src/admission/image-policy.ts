/** Asks a server whether images may run (kubernetes, plugin/pkg/admission/imagepolicy). */
import { ExpiringCache } from '#collections/expiring-cache.js'
import { stringify } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import type { WriteAttributes } from '#registry/admission.js'
import type { AskReview, SentReview } from '#webhook/review-answer.js'
import { annotateAudit } from './audit-annotations.js'
import { type AdmissionPlugin, isAbout, podWrites, refuse } from './plugin.js'

/** The status of an ImageReview of imagepolicy.k8s.io/v1alpha1. */
interface ImageReviewStatus {
  readonly allowed: boolean
  readonly reason?: string
  readonly auditAnnotations?: Readonly<Record<string, string>>
}

export interface ImagePolicy {
  readonly ask: AskReview
  /** How long an answer is kept; 0: each request asks. */
  readonly allowTtlMs: number
  readonly denyTtlMs: number
  /** The answer if the server cannot be asked. */
  readonly defaultAllow: boolean
}

const auditPrefix = 'imagepolicywebhook.image-policy.k8s.io/'

const ephemeralWrites = { ...podWrites, subresource: 'ephemeralcontainers' } as const

interface Container {
  readonly image?: string
}

const specOf = ({ object, subresource, namespace }: WriteAttributes): JsonObject => {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = object.spec
  const asked: readonly Container[] =
    subresource === '' ? [...containers, ...initContainers] : ephemeralContainers
  const annotations = Object.entries(object.metadata.annotations ?? {}).filter(([key]) =>
    key.includes('.image-policy.k8s.io/'),
  )
  return {
    ...(asked.length > 0 && {
      containers: asked.map(({ image = '' }): JsonObject => (image === '' ? {} : { image })),
    }),
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations.sort()) }),
    namespace,
  }
}

const checkAnswer = (
  attributes: WriteAttributes,
  { allowed, reason, auditAnnotations = {} }: ImageReviewStatus,
): void => {
  for (const [key, value] of Object.entries(auditAnnotations))
    annotateAudit(attributes, auditPrefix + key, value)
  if (allowed) return
  throw refuse(
    attributes,
    reason
      ? `image policy webhook backend denied one or more images: ${reason}`
      : 'one or more images rejected by webhook backend',
  )
}

const group = 'imagepolicy.k8s.io'
const reviewOf = (spec: JsonObject): SentReview => ({
  group,
  kind: 'ImageReview',
  review: {
    kind: 'ImageReview',
    apiVersion: `${group}/v1alpha1`,
    metadata: {},
    spec,
    status: { allowed: false },
  },
})

export const imagePolicyWebhook = (policy: ImagePolicy): AdmissionPlugin => {
  const answers = new ExpiringCache<ImageReviewStatus>(limits.imageReviewsKept)

  /** Undefined if the call failed and defaultAllow is set. */
  const answerTo = async (attributes: WriteAttributes): Promise<ImageReviewStatus | undefined> => {
    const { now } = attributes.ctx
    const spec = specOf(attributes)
    const key = stringify(spec)
    const known = answers.get(key, now)
    if (known !== undefined) return known
    try {
      const status = (await policy.ask(reviewOf(spec))).status as unknown as ImageReviewStatus
      const ttlMs = status.allowed ? policy.allowTtlMs : policy.denyTtlMs
      if (ttlMs > 0) answers.set(key, status, now + ttlMs)
      return status
    } catch (error) {
      if (!policy.defaultAllow) throw refuse(attributes, (error as Error).message)
      annotateAudit(attributes, `${auditPrefix}failed-open`, 'true')
      return undefined
    }
  }

  const check = async (attributes: WriteAttributes): Promise<void> => {
    const status = await answerTo(attributes)
    if (status !== undefined) checkAnswer(attributes, status)
  }

  return {
    name: 'ImagePolicyWebhook',
    resources: ['pods'],
    validate: (attributes) => {
      if (isAbout(attributes, podWrites) || isAbout(attributes, ephemeralWrites))
        return check(attributes)
    },
  }
}
