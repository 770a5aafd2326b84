/** What ImagePolicyWebhook is told, and how it asks (kubernetes, plugin/pkg/admission/imagepolicy). */
import type { ImagePolicy } from '#admission/image-policy.js'
import { printedDuration } from '#go/duration.js'
import { decodeUnversioned } from '#registry/decode-configuration.js'
import { ReviewWebhook } from '../review-webhook.js'
import type { StartedParts } from '../started-parts.js'
import { readKubeconfig } from './plugin-configuration.js'

interface Configuration {
  readonly kubeConfigFile: string
  readonly allowTTL: number
  readonly denyTTL: number
  readonly retryBackoff: number
  readonly defaultAllow: boolean
}

interface Bounds {
  readonly scaleMs: number
  readonly minMs: number
  readonly maxMs: number
  readonly defaultMs: number
}

const minutes = 60_000
const ttl = { scaleMs: 1_000, minMs: 1_000, maxMs: 30 * minutes }
const allow: Bounds = { ...ttl, defaultMs: 5 * minutes }
const deny: Bounds = { ...ttl, defaultMs: 30_000 }
const backoff: Bounds = { scaleMs: 1, minMs: 1e-6, maxMs: 5 * minutes, defaultMs: 500 }

/** 0 is the default, and -1 turns it off. */
const milliseconds = (value: number, { scaleMs, minMs, maxMs, defaultMs }: Bounds): number => {
  if (value === 0) return defaultMs
  if (value === -1) return 0
  const ms = value * scaleMs
  if (ms < minMs || ms > maxMs)
    throw new Error(
      `valid value is between ${printedDuration(minMs)} and ${printedDuration(maxMs)}, got ${printedDuration(ms)}`,
    )
  return ms
}

/** Throws an Error. The client of the webhook is closed with the server. */
export const readImagePolicy = async (
  text: string | undefined,
  started: StartedParts,
): Promise<ImagePolicy> => {
  if (text === undefined) throw new Error('no config specified')
  const { imagePolicy } = decodeUnversioned(text, 'config.imagepolicy.AdmissionConfig')
  const { kubeConfigFile, ...given } = imagePolicy as unknown as Configuration
  const initialBackoffMs = milliseconds(given.retryBackoff, backoff)
  const allowTtlMs = milliseconds(given.allowTTL, allow)
  const denyTtlMs = milliseconds(given.denyTTL, deny)
  const webhook = new ReviewWebhook(await readKubeconfig(kubeConfigFile), { initialBackoffMs })
  started.defer(async () => webhook.close())
  return {
    ask: (sent) => webhook.ask(sent),
    allowTtlMs,
    denyTtlMs,
    defaultAllow: given.defaultAllow,
  }
}
