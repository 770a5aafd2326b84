/** What can be seen of a script: every kind that controllers write. */
import type { PersistedObject } from '#api/object.js'
import { type ResourceRef, resources } from '#client/resources.js'

export const kinds: readonly ResourceRef[] = [
  resources.pods,
  resources.configMaps,
  resources.secrets,
  resources.serviceAccounts,
  resources.services,
  resources.endpoints,
  resources.resourceQuotas,
  resources.replicationControllers,
  resources.persistentVolumeClaims,
  resources.events,
  resources.endpointSlices,
  resources.replicaSets,
  resources.deployments,
  resources.statefulSets,
  resources.daemonSets,
  resources.controllerRevisions,
  resources.jobs,
  resources.cronJobs,
  resources.podDisruptionBudgets,
  resources.horizontalPodAutoscalers,
  resources.namespaces,
  resources.nodes,
  resources.persistentVolumes,
  resources.storageClasses,
  resources.csiDrivers,
  resources.volumeAttachments,
  resources.csiNodes,
  resources.clusterRoles,
  resources.priorityClasses,
  resources.resourceClaims,
  resources.resourceClaimTemplates,
  resources.deviceClasses,
  resources.resourceSlices,
  resources.validatingAdmissionPolicies,
]

/** By kind. */
export type State = Record<string, PersistedObject[]>
