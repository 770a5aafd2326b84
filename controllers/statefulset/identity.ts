/** Names of a StatefulSet's Pods and claims, and the Pods themselves. */
import type { Condition } from '#api/conditions.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { KubeObject, NamespacedObject, ObjectMeta } from '#api/object.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { parseCount } from '../pods/parse-count.js'
import { type NewPod, type PodTemplate, podFromTemplate } from '../pods/pod-control.js'
import { revisionLabel } from '../pods/revisions.js'

/** Not an object itself: it has a name, and nothing that the API server gives. */
interface ClaimTemplate extends KubeObject {
  metadata: ObjectMeta & { name: string }
}

export interface StatefulSet extends NamespacedObject {
  spec: {
    replicas?: number
    selector: LabelSelector
    serviceName?: string
    template: PodTemplate
    podManagementPolicy?: string
    updateStrategy?: {
      type?: string
      rollingUpdate?: { partition?: number }
    }
    volumeClaimTemplates?: ClaimTemplate[]
    minReadySeconds?: number
    revisionHistoryLimit?: number
    ordinals?: { start?: number }
    persistentVolumeClaimRetentionPolicy?: { whenDeleted?: string; whenScaled?: string }
    [field: string]: unknown
  }
  status: {
    observedGeneration?: number
    replicas?: number
    readyReplicas?: number
    availableReplicas?: number
    currentReplicas?: number
    updatedReplicas?: number
    currentRevision?: string
    updateRevision?: string
    collisionCount?: number
    conditions?: Condition[]
    [field: string]: unknown
  }
}

const podNameLabel = 'statefulset.kubernetes.io/pod-name'
const podIndexLabel = 'apps.kubernetes.io/pod-index'

export const podName = (set: StatefulSet, ordinal: number): string =>
  `${set.metadata.name}-${ordinal}`

interface Named {
  readonly metadata: { readonly name: string }
}

/** -1 for a Pod whose name is not one of the set's. */
export const ordinalOf = (set: StatefulSet, pod: Named): number => {
  const prefix = `${set.metadata.name}-`
  const { name } = pod.metadata
  return (name.startsWith(prefix) ? parseCount(name.slice(prefix.length)) : undefined) ?? -1
}

/** Whether the Pod is one of those that the size asks for. */
export const isInRange = (set: StatefulSet, pod: Named): boolean => {
  const index = ordinalOf(set, pod) - (set.spec.ordinals?.start ?? 0)
  return index >= 0 && index < (set.spec.replicas ?? 1)
}

export const claimName = (set: StatefulSet, template: ClaimTemplate, ordinal: number): string =>
  `${template.metadata.name}-${podName(set, ordinal)}`

/** The ordinal's claims, each by the name of its template, before the other volumes. */
const withClaims = (
  set: StatefulSet,
  ordinal: number,
  volumes: readonly { name: string }[] = [],
): { name: string }[] => {
  const templates = set.spec.volumeClaimTemplates ?? []
  const own = new Set(templates.map((t) => t.metadata.name))
  return [
    ...templates.map((t) => ({
      name: t.metadata.name,
      persistentVolumeClaim: { claimName: claimName(set, t, ordinal) },
    })),
    ...volumes.filter((v) => !own.has(v.name)),
  ]
}

const identityLabels = (set: StatefulSet, ordinal: number): Record<string, string> => ({
  [podNameLabel]: podName(set, ordinal),
  [podIndexLabel]: String(ordinal),
})

/** Upstream's identityMatches: a Pod that was made before there was a label of its index goes without one. */
export const hasItsLabels = (pod: Pod): boolean =>
  pod.metadata.labels?.[podNameLabel] === pod.metadata.name

/** Upstream's storageMatches. */
export const mountsItsClaims = (set: StatefulSet, pod: Pod): boolean =>
  (set.spec.volumeClaimTemplates ?? []).every((template) =>
    pod.spec.volumes?.some(
      ({ name, persistentVolumeClaim }) =>
        name === template.metadata.name &&
        persistentVolumeClaim?.claimName === claimName(set, template, ordinalOf(set, pod)),
    ),
  )

/** The Pod with what makes it the set's; the API does not let claims be added to one that is there, and says so. */
export const identified = (set: StatefulSet, pod: Pod): Pod => {
  const ordinal = ordinalOf(set, pod)
  const labels = { ...pod.metadata.labels, ...identityLabels(set, ordinal) }
  const volumes = withClaims(set, ordinal, pod.spec.volumes)
  return {
    ...pod,
    metadata: { ...pod.metadata, ...(hasItsLabels(pod) ? {} : { labels }) },
    spec: { ...pod.spec, ...(mountsItsClaims(set, pod) ? {} : { volumes }) },
  }
}

/** Pods with the same name share everything that makes an identity: name, host name, claims, labels. */
export const statefulPod = (
  set: StatefulSet,
  ordinal: number,
  { template, revision }: { template: PodTemplate; revision: string },
): NewPod => {
  const name = podName(set, ordinal)
  const pod = podFromTemplate(template, resources.statefulSets, set, {
    name,
    generateName: `${set.metadata.name}-`,
  })
  const volumes = withClaims(set, ordinal, pod.spec.volumes)
  return {
    metadata: {
      ...pod.metadata,
      labels: {
        ...pod.metadata.labels,
        ...identityLabels(set, ordinal),
        [revisionLabel]: revision,
      },
    },
    spec: {
      ...pod.spec,
      hostname: name,
      ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
      ...(volumes.length > 0 ? { volumes } : {}),
    },
  }
}

/** The claims of an ordinal. They outlive their Pod, unless the set's policy gives them an owner. */
export const statefulClaims = (set: StatefulSet, ordinal: number) =>
  (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    metadata: {
      name: claimName(set, template, ordinal),
      namespace: set.metadata.namespace,
      labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
      annotations: { ...template.metadata.annotations },
    },
    spec: template.spec,
  }))
