/** All controllers, in the order they are started. A new one is one line here and a folder. */

import { attachDetachController } from './attach-detach/controller.js'
import { bootstrapSignerController } from './bootstrap/signer.js'
import { tokenCleanerController } from './bootstrap/token-cleaner.js'
import { certificateControllers } from './certificates/controller.js'
import { clusterRoleAggregationController } from './clusterrole-aggregation/controller.js'
import type { Controller } from './controller.js'
import { cronJobController } from './cronjob/controller.js'
import { daemonSetController } from './daemonset/controller.js'
import { deploymentController } from './deployment/controller.js'
import { deviceTaintEvictionController } from './device-taint-eviction/controller.js'
import { disruptionController } from './disruption/controller.js'
import { endpointsController } from './endpoints/controller.js'
import { endpointSliceController } from './endpointslice/controller.js'
import { endpointSliceMirroringController } from './endpointslice-mirroring/controller.js'
import { ephemeralVolumeController } from './ephemeral-volume/controller.js'
import { garbageCollectorController } from './garbage-collector/controller.js'
import { jobController } from './job/controller.js'
import { legacyTokenController } from './legacy-token/controller.js'
import { namespaceController } from './namespace/controller.js'
import { nodeIpamController } from './node-ipam/controller.js'
import { nodeLifecycleController } from './node-lifecycle/controller.js'
import { persistentVolumeBinderController } from './persistentvolume/binder.js'
import { volumeExpanderController } from './persistentvolume/expander.js'
import {
  attributesClassProtectionController,
  claimProtectionController,
  volumeProtectionController,
} from './persistentvolume/protection.js'
import { podGcController } from './pod-gc/controller.js'
import { podAutoscalerController } from './podautoscaler/controller.js'
import { replicaSetController, replicationControllerController } from './replicaset/controller.js'
import { resourceClaimController } from './resourceclaim/controller.js'
import { resourceQuotaController } from './resourcequota/controller.js'
import { rootCaController } from './root-ca/controller.js'
import { serviceCidrController } from './service-cidr/controller.js'
import { serviceAccountController } from './serviceaccount/controller.js'
import { serviceAccountTokenController } from './serviceaccount/token-controller.js'
import { statefulSetController } from './statefulset/controller.js'
import { taintEvictionController } from './taint-eviction/controller.js'
import { ttlController } from './ttl/controller.js'
import { ttlAfterFinishedController } from './ttl-after-finished/controller.js'
import { policyStatusController } from './validatingadmissionpolicy-status/controller.js'

export const controllers: readonly Controller[] = [
  endpointSliceController,
  endpointsController,
  endpointSliceMirroringController,
  namespaceController,
  garbageCollectorController,
  replicaSetController,
  replicationControllerController,
  deploymentController,
  statefulSetController,
  taintEvictionController,
  nodeIpamController,
  nodeLifecycleController,
  podGcController,
  disruptionController,
  daemonSetController,
  serviceAccountController,
  serviceAccountTokenController,
  rootCaController,
  serviceCidrController,
  jobController,
  cronJobController,
  ttlAfterFinishedController,
  ttlController,
  resourceQuotaController,
  persistentVolumeBinderController,
  attachDetachController,
  ephemeralVolumeController,
  resourceClaimController,
  claimProtectionController,
  volumeProtectionController,
  attributesClassProtectionController,
  clusterRoleAggregationController,
  podAutoscalerController,
  ...certificateControllers,
  policyStatusController,
  volumeExpanderController,
  deviceTaintEvictionController,
  legacyTokenController,
  bootstrapSignerController,
  tokenCleanerController,
]
