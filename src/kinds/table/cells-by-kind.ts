/**
 * The rows of every built-in kind that has columns of its own. Cells are made from the storage version, as upstream
 * makes them from the internal one, so all versions of a resource print alike.
 */
import { formatGroupKind, type GroupKind } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { horizontalPodAutoscalerCells } from './autoscaler-cells.js'
import * as core from './core-cells.js'
import type { Cells } from './format.js'
import { groupCells, nameAndAge } from './group-cells.js'
import { podCells, podRowConditions } from './pod-cells.js'
import * as workload from './workload-cells.js'

const cellsByKind: Readonly<Record<string, Cells>> = {
  Pod: podCells,
  PodTemplate: workload.podTemplateCells,
  ReplicationController: workload.replicationControllerCells,
  'Deployment.apps': workload.deploymentCells,
  'ReplicaSet.apps': workload.replicaSetCells,
  'StatefulSet.apps': workload.statefulSetCells,
  'DaemonSet.apps': workload.daemonSetCells,
  'ControllerRevision.apps': workload.controllerRevisionCells,
  'Job.batch': workload.jobCells,
  'CronJob.batch': workload.cronJobCells,
  Service: core.serviceCells,
  Endpoints: core.endpointsCells,
  Node: core.nodeCells,
  Event: core.eventCells,
  Namespace: core.namespaceCells,
  Secret: core.secretCells,
  ServiceAccount: nameAndAge,
  ConfigMap: core.configMapCells,
  PersistentVolume: core.persistentVolumeCells,
  PersistentVolumeClaim: core.persistentVolumeClaimCells,
  ResourceQuota: core.resourceQuotaCells,
  ComponentStatus: core.componentStatusCells,
  'HorizontalPodAutoscaler.autoscaling': horizontalPodAutoscalerCells,
  ...groupCells,
}

/** Undefined for kinds with the two default columns, name and creation time. */
export const cellsOf = (kind: GroupKind): Cells | undefined => cellsByKind[formatGroupKind(kind)]

const rowConditionsByKind: Readonly<Record<string, (object: KubeObject) => unknown[] | undefined>> =
  { Pod: podRowConditions }

/** What a row's `conditions` hold; only pods have any. */
export const rowConditionsOf = (kind: GroupKind) => rowConditionsByKind[formatGroupKind(kind)]
