/** Names of a StatefulSet's Pods and claims, and the Pods themselves. */
import type { LabelSelector } from '#api/label-selector.js'
import type { KubeObject, NamespacedObject, ObjectMeta } from '#api/object.js'
import type { Condition, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
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
      rollingUpdate?: { partition?: number; maxUnavailable?: number | string }
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

/** -1 for a Pod whose name is not one of the set's. */
export const ordinalOf = (set: StatefulSet, pod: Pod): number => {
  const prefix = `${set.metadata.name}-`
  const rest = pod.metadata.name.slice(prefix.length)
  return pod.metadata.name.startsWith(prefix) && /^\d+$/.test(rest) ? Number(rest) : -1
}

/** Whether the Pod is one of those that the size asks for. */
export const isInRange = (set: StatefulSet, pod: Pod): boolean => {
  const index = ordinalOf(set, pod) - (set.spec.ordinals?.start ?? 0)
  return index >= 0 && index < (set.spec.replicas ?? 1)
}

export const claimName = (set: StatefulSet, template: ClaimTemplate, ordinal: number): string =>
  `${template.metadata.name}-${podName(set, ordinal)}`

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
  const templates = set.spec.volumeClaimTemplates ?? []
  const own = new Set(templates.map((t) => t.metadata.name))
  const volumes = [
    ...(pod.spec.volumes ?? []).filter((v) => !own.has(v.name)),
    ...templates.map((t) => ({
      name: t.metadata.name,
      persistentVolumeClaim: { claimName: claimName(set, t, ordinal) },
    })),
  ]
  return {
    metadata: {
      ...pod.metadata,
      labels: {
        ...pod.metadata.labels,
        [podNameLabel]: name,
        [podIndexLabel]: String(ordinal),
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
