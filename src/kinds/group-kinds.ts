/** Kinds outside of the core workloads: Services and their kin, quotas, volumes, and every group but apps and batch. */
import type { KindDefinition } from '#registry/resource-definition.js'
import mutatingAdmissionPolicy from './admissionregistration/mutating-admission-policy.js'
import mutatingAdmissionPolicyBinding from './admissionregistration/mutating-admission-policy-binding.js'
import mutatingWebhookConfiguration from './admissionregistration/mutating-webhook-configuration.js'
import validatingAdmissionPolicy from './admissionregistration/validating-admission-policy.js'
import validatingAdmissionPolicyBinding from './admissionregistration/validating-admission-policy-binding.js'
import validatingWebhookConfiguration from './admissionregistration/validating-webhook-configuration.js'
import apiService from './apiregistration/api-service.js'
import horizontalPodAutoscaler from './autoscaling/horizontal-pod-autoscaler.js'
import horizontalPodAutoscalerV1 from './autoscaling/horizontal-pod-autoscaler-v1.js'
import certificateSigningRequest from './certificates/certificate-signing-request.js'
import lease from './coordination/lease.js'
import endpoints from './core/endpoints.js'
import coreEvent from './core/event.js'
import limitRange from './core/limit-range.js'
import persistentVolume from './core/persistent-volume.js'
import persistentVolumeClaim from './core/persistent-volume-claim.js'
import resourceQuota from './core/resource-quota.js'
import service from './core/service.js'
import endpointSlice from './discovery/endpoint-slice.js'
import event from './events/event.js'
import flowSchema from './flowcontrol/flow-schema.js'
import priorityLevelConfiguration from './flowcontrol/priority-level-configuration.js'
import ingress from './networking/ingress.js'
import ingressClass from './networking/ingress-class.js'
import ipAddress from './networking/ip-address.js'
import networkPolicy from './networking/network-policy.js'
import serviceCidr from './networking/service-cidr.js'
import runtimeClass from './node/runtime-class.js'
import podDisruptionBudget from './policy/pod-disruption-budget.js'
import clusterRole from './rbac/cluster-role.js'
import clusterRoleBinding from './rbac/cluster-role-binding.js'
import role from './rbac/role.js'
import roleBinding from './rbac/role-binding.js'
import deviceClass from './resource/device-class.js'
import resourceClaim from './resource/resource-claim.js'
import resourceClaimTemplate from './resource/resource-claim-template.js'
import resourceSlice from './resource/resource-slice.js'
import priorityClass from './scheduling/priority-class.js'
import csiDriver from './storage/csi-driver.js'
import csiNode from './storage/csi-node.js'
import csiStorageCapacity from './storage/csi-storage-capacity.js'
import storageClass from './storage/storage-class.js'
import volumeAttachment from './storage/volume-attachment.js'
import volumeAttributesClass from './storage/volume-attributes-class.js'

export const groupKinds: readonly KindDefinition[] = [
  service,
  endpoints,
  endpointSlice,
  mutatingAdmissionPolicy,
  mutatingAdmissionPolicyBinding,
  mutatingWebhookConfiguration,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
  validatingWebhookConfiguration,
  flowSchema,
  priorityLevelConfiguration,
  deviceClass,
  resourceClaim,
  resourceClaimTemplate,
  resourceSlice,
  apiService,
  horizontalPodAutoscaler,
  horizontalPodAutoscalerV1,
  certificateSigningRequest,
  coreEvent,
  event,
  limitRange,
  resourceQuota,
  persistentVolume,
  persistentVolumeClaim,
  ingress,
  ingressClass,
  ipAddress,
  networkPolicy,
  serviceCidr,
  lease,
  runtimeClass,
  podDisruptionBudget,
  role,
  clusterRole,
  roleBinding,
  clusterRoleBinding,
  priorityClass,
  csiDriver,
  csiNode,
  csiStorageCapacity,
  storageClass,
  volumeAttachment,
  volumeAttributesClass,
]
