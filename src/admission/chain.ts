/**
 * The admission chain: every plugin's `mutate`, then every plugin's `validate`, in the order of kube-apiserver
 * (kubernetes, pkg/kubeapiserver/options/plugins.go). Why this order: the namespace is known to exist before anything
 * is looked up in it, and quota counts what all others have let pass.
 */

import { whenKnown } from '#api/when-known.js'
import type { Admission, AdmissionAttributes } from '#registry/admission.js'
import { alwaysPullImages } from './always-pull-images.js'
import { limitPodHardAntiAffinityTopology } from './anti-affinity-topology.js'
import { type Authorize, noAuthorizer } from './cel.js'
import {
  type AuthorizeSigner,
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from './certificates.js'
import { defaultIngressClass, defaultStorageClass } from './default-class.js'
import { denyServiceExternalIps } from './deny-external-ips.js'
import { limitRanger } from './limit-ranger.js'
import { mutatingAdmissionPolicy } from './mutating-policy.js'
import { namespaceAutoProvision, namespaceExists } from './namespace-existence.js'
import { namespaceLifecycle } from './namespace-lifecycle.js'
import { nodeRestriction } from './node-restriction/node-restriction.js'
import { defaultTolerationSeconds, taintNodesByCondition } from './node-taints.js'
import { type OwnerMeans, ownerReferencesPermissionEnforcement } from './owner-references.js'
import type { AdmissionPlugin } from './plugin.js'
import { podNodeSelector } from './pod-node-selector.js'
import { podPriority } from './pod-priority.js'
import { nodeDeclaredFeatureValidator, podResizeValidator } from './pod-resize.js'
import { podSecurity } from './pod-security.js'
import { extendedResourceToleration, podTolerationRestriction } from './pod-tolerations.js'
import { podTopologyLabels } from './pod-topology-labels.js'
import type { ResourceOfKind } from './policy-input.js'
import { runsAgain } from './reinvocation.js'
import { resourceQuota } from './resource-quota.js'
import { runtimeClass } from './runtime-class.js'
import { serviceAccount } from './service-account.js'
import { persistentVolumeClaimResize, storageObjectInUseProtection } from './storage-protection.js'
import { validatingAdmissionPolicy } from './validating-policy.js'
import type { EquivalentsOf } from './versioned-request.js'
import { mutatingAdmissionWebhook, validatingAdmissionWebhook } from './webhooks.js'

const pluginsFor = (
  authorizeSigner: AuthorizeSigner,
  means: OwnerMeans,
): readonly AdmissionPlugin[] => [
  namespaceAutoProvision,
  namespaceLifecycle,
  namespaceExists,
  limitPodHardAntiAffinityTopology,
  limitRanger,
  serviceAccount,
  nodeRestriction(means.authorize),
  taintNodesByCondition,
  alwaysPullImages,
  podSecurity,
  podNodeSelector,
  podPriority,
  defaultTolerationSeconds,
  podTolerationRestriction,
  extendedResourceToleration,
  defaultStorageClass,
  storageObjectInUseProtection,
  ownerReferencesPermissionEnforcement(means),
  persistentVolumeClaimResize,
  runtimeClass,
  certificateApproval(authorizeSigner),
  certificateSigning(authorizeSigner),
  certificateSubjectRestriction,
  defaultIngressClass,
  denyServiceExternalIps,
  podTopologyLabels,
  nodeDeclaredFeatureValidator,
  podResizeValidator,
]

const offByDefault: ReadonlySet<string> = new Set([
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'ExtendedResourceToleration',
  'LimitPodHardAntiAffinityTopology',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'NodeRestriction',
  'OwnerReferencesPermissionEnforcement',
  'PodNodeSelector',
  'PodTolerationRestriction',
])

export interface AdmissionOptions {
  /** Names of plugins that take part though they do not by default. */
  readonly enabled?: readonly string[]
  /** Names of plugins that are left out. */
  readonly disabled?: readonly string[]
  /** Missing: everybody may approve and sign. */
  readonly authorizeSigner?: AuthorizeSigner
  /** For expressions that name `authorizer`. Missing: nobody may do anything. */
  readonly authorize?: Authorize
  /** For the parameters of policies. Missing: policies have none. */
  readonly resourceOfKind?: ResourceOfKind
  /** For rules that name another version. Missing: a resource has one. */
  readonly equivalentsOf?: EquivalentsOf
}

/** The plugins that look at a resource. Most look at a few only, and every write would wait for each of them in turn. */
const byResource = (plugins: readonly AdmissionPlugin[]) => {
  const known = new Map<string, readonly AdmissionPlugin[]>()
  return (resource: string): readonly AdmissionPlugin[] => {
    let found = known.get(resource)
    if (found === undefined) {
      found = plugins.filter(({ resources }) => resources?.includes(resource) ?? true)
      known.set(resource, found)
    }
    return found
  }
}

/** Undefined when nobody had to wait. */
const runAll = (
  plugins: readonly AdmissionPlugin[],
  step: 'mutate' | 'validate',
  attributes: AdmissionAttributes,
  from = 0,
): void | Promise<void> => {
  for (let i = from; i < plugins.length; i++) {
    const waiting = plugins[i]![step]!(attributes)
    if (waiting !== undefined) return waiting.then(() => runAll(plugins, step, attributes, i + 1))
  }
}

export const makeAdmission = (options: AdmissionOptions): Admission => {
  const {
    enabled = [],
    disabled = [],
    authorizeSigner = async () => true,
    resourceOfKind = () => undefined,
    authorize = noAuthorizer,
    equivalentsOf = (definition) => [definition],
  } = options
  const means = { resourceOfKind, authorize, equivalentsOf }
  const plugins = [
    ...pluginsFor(authorizeSigner, means),
    mutatingAdmissionPolicy(means),
    mutatingAdmissionWebhook(means),
    validatingAdmissionPolicy(means),
    validatingAdmissionWebhook(means),
    resourceQuota(),
  ].filter(
    ({ name }) => !disabled.includes(name) && (!offByDefault.has(name) || enabled.includes(name)),
  )
  const mutating = byResource(plugins.filter((plugin) => plugin.mutate !== undefined))
  const validating = byResource(plugins.filter((plugin) => plugin.validate !== undefined))
  return {
    mutate: (attributes) => {
      const plugins = mutating(attributes.resource.resource)
      return whenKnown(runAll(plugins, 'mutate', attributes), () =>
        runsAgain(attributes) ? runAll(plugins, 'mutate', attributes) : undefined,
      )
    },
    validate: (attributes) =>
      runAll(validating(attributes.resource.resource), 'validate', attributes),
  }
}
