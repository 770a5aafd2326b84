/** The ReplicaSet of the present template: its name, labels, revision and annotations. */
import { lastAppliedAnnotation } from '#api/last-applied.js'
import type { PersistedObject } from '#api/object.js'
import { resources } from '#client/resources.js'
import { parseInt64 } from '#json/int64.js'
import { limits } from '#limits'
import { ownerReference } from '../ownership/claim.js'
import { templateHash } from '../pods/hash.js'
import {
  type Deployment,
  desiredAnnotation,
  hashLabel,
  maxAnnotation,
  type OwnedSet,
  replicasOf,
  revisionAnnotation,
  revisionHistoryAnnotation,
  revisionOf,
  rollingLimits,
  sumReplicas,
} from './deployment.js'

/** Annotations of the Deployment that its sets do not get. */
const notCopied = new Set([
  lastAppliedAnnotation,
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredAnnotation,
  maxAnnotation,
  'deprecated.deployment.rollback.to',
])

const copied = (deployment: Deployment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !notCopied.has(key)),
  )

export const sizeAnnotations = (deployment: Deployment): Record<string, string> => ({
  [desiredAnnotation]: String(replicasOf(deployment)),
  [maxAnnotation]: String(replicasOf(deployment) + rollingLimits(deployment).maxSurge),
})

const nextRevision = (oldSets: readonly OwnedSet[]): bigint => {
  let last = 0n
  for (const set of oldSets) if (revisionOf(set) > last) last = revisionOf(set)
  return last + 1n
}

/** How many the new set may have now, counting what the old ones still hold. */
export const newSetReplicas = (
  deployment: Deployment,
  allSets: readonly OwnedSet[],
  current: number,
): number => {
  const wanted = replicasOf(deployment)
  if (deployment.spec.strategy?.type === 'Recreate') return wanted
  const { maxSurge } = rollingLimits(deployment)
  const total = sumReplicas(allSets)
  if (total >= wanted + maxSurge) return current
  return current + Math.min(wanted + maxSurge - total, wanted - current)
}

export const makeNewSet = (deployment: Deployment, oldSets: readonly OwnedSet[]) => {
  const { template } = deployment.spec
  const hash = templateHash(template, deployment.status?.collisionCount)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  const { selector } = deployment.spec
  return {
    metadata: {
      name: `${deployment.metadata.name.slice(0, limits.setNameLengthMax - hash.length - 1)}-${hash}`,
      namespace: deployment.metadata.namespace,
      labels,
      annotations: {
        ...copied(deployment),
        ...sizeAnnotations(deployment),
        [revisionAnnotation]: String(nextRevision(oldSets)),
      },
      ownerReferences: [ownerReference(resources.deployments, deployment)],
    },
    spec: {
      replicas: newSetReplicas(deployment, oldSets, 0),
      minReadySeconds: deployment.spec.minReadySeconds ?? 0,
      selector: {
        ...selector,
        matchLabels: { ...selector.matchLabels, [hashLabel]: hash },
      },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

/**
 * Annotations of the set that became the new one: its revision grows past the others' when an old template came back,
 * and the number it had goes into its history, which is what `kubectl rollout undo` and `history` read.
 */
export const newSetAnnotations = (
  deployment: Deployment,
  set: OwnedSet,
  oldSets: readonly OwnedSet[],
): Record<string, string> => {
  const before = set.metadata.annotations?.[revisionAnnotation]
  // Somebody has written another thing in its place, which is left alone with all the rest.
  if (before && parseInt64(before) === undefined) return { ...set.metadata.annotations }
  const annotations = { ...set.metadata.annotations, ...copied(deployment) }
  const revision = nextRevision(oldSets)
  if (revisionOf(set) < revision) {
    annotations[revisionAnnotation] = String(revision)
    if (before !== undefined) {
      const history = (annotations[revisionHistoryAnnotation] ?? '').split(',').filter(Boolean)
      while (
        history.length > 0 &&
        [...history, before].join(',').length > limits.revisionHistoryChars
      )
        history.shift()
      annotations[revisionHistoryAnnotation] = [...history, before].join(',')
    }
  }
  return annotations
}

export const differs = (set: PersistedObject, annotations: Record<string, string>): boolean => {
  const now = set.metadata.annotations ?? {}
  return Object.entries(annotations).some(([key, value]) => now[key] !== value)
}
