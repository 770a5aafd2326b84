/** What this kubelet has of upstream's KubeletConfiguration, for /configz. What is not there means nothing here. */
import { printedDuration } from '#go/duration.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import type { ThresholdTexts } from '../eviction/thresholds.js'
import type { ShutdownGrace } from '../node/node-shutdown.js'

interface Configured {
  readonly address: string
  readonly port: number
  readonly manifestPath: string | undefined
  readonly containerRuntimeEndpoint: string | undefined
  readonly nodeLeaseSeconds: number
  readonly dns: { clusterDns: readonly string[]; clusterDomain: string; resolvConf: string }
  readonly backoffMaxMs: number
  readonly thresholds: ThresholdTexts
  readonly pressureTransitionMs: number
  readonly maxPodGraceSeconds: number
  readonly imageAgeMsMin: number
  readonly shutdownGrace: ShutdownGrace | undefined
}

/** `memory.available<1Gi` as `{ 'memory.available': '1Gi' }`; left out where there are none. */
const pairs = (field: string, texts: readonly string[] = []): JsonObject => {
  const given = texts.filter((text) => text.trim() !== '')
  if (given.length === 0) return {}
  const split = given.map((text) => text.split(/[<=](.*)/s, 2).map((part) => part.trim()))
  return { [field]: Object.fromEntries(split) }
}

const seconds = (value = 0): string => printedDuration(value * 1000)

export const kubeletConfiguration = (of: Configured): JsonObject => ({
  kind: 'KubeletConfiguration',
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  enableServer: true,
  ...(of.manifestPath === undefined ? {} : { staticPodPath: of.manifestPath }),
  address: of.address,
  port: of.port,
  authentication: {
    x509: {},
    webhook: { enabled: true, cacheTTL: printedDuration(limits.tokenReviewMs) },
    anonymous: { enabled: false },
  },
  authorization: {
    mode: 'Webhook',
    webhook: {
      cacheAuthorizedTTL: printedDuration(limits.allowedReviewMs),
      cacheUnauthorizedTTL: printedDuration(limits.deniedReviewMs),
    },
  },
  clusterDomain: of.dns.clusterDomain,
  ...(of.dns.clusterDns.length === 0 ? {} : { clusterDNS: [...of.dns.clusterDns] }),
  nodeLeaseDurationSeconds: of.nodeLeaseSeconds,
  imageMinimumGCAge: printedDuration(of.imageAgeMsMin),
  maxPods: limits.podsPerNodeMax,
  resolvConf: of.dns.resolvConf,
  ...pairs('evictionHard', of.thresholds.hard),
  ...pairs('evictionSoft', of.thresholds.soft),
  ...pairs('evictionSoftGracePeriod', of.thresholds.softGracePeriods),
  evictionPressureTransitionPeriod: printedDuration(of.pressureTransitionMs),
  ...(of.maxPodGraceSeconds === 0 ? {} : { evictionMaxPodGracePeriod: of.maxPodGraceSeconds }),
  ...pairs('evictionMinimumReclaim', of.thresholds.minimumReclaims),
  containerLogMaxSize: String(limits.containerLogBytesMax),
  containerLogMaxFiles: 2,
  shutdownGracePeriod: seconds(of.shutdownGrace?.seconds),
  shutdownGracePeriodCriticalPods: seconds(of.shutdownGrace?.criticalSeconds),
  crashLoopBackOff: { maxContainerRestartPeriod: printedDuration(of.backoffMaxMs) },
  registerNode: true,
  containerRuntimeEndpoint: of.containerRuntimeEndpoint ?? '',
})
