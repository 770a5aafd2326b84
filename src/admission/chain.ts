/**
 * The admission chain: every plugin's `mutate`, then every plugin's `validate`, in the order of kube-apiserver
 * (kubernetes, pkg/kubeapiserver/options/plugins.go). The reason of the order: the namespace is checked before anything
 * is looked up in it, and quota counts only what all other plugins have admitted.
 */

import type https from 'node:https'
import { whenKnown } from '#async/when-known.js'
import type { Admission, AdmissionAttributes } from '#registry/admission.js'
import { alwaysDeny } from './always-deny.js'
import { alwaysPullImages } from './always-pull-images.js'
import { limitPodHardAntiAffinityTopology } from './anti-affinity-topology.js'
import {
  type AuthorizeSigner,
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from './certificates.js'
import { defaultIngressClass, defaultStorageClass } from './default-class.js'
import { denyServiceExternalIps } from './deny-external-ips.js'
import { type EventLimit, eventRateLimit } from './event-rate-limit.js'
import { type ImagePolicy, imagePolicyWebhook } from './image-policy.js'
import { limitRanger } from './limit-ranger.js'
import { namespaceAutoProvision, namespaceExists } from './namespace-existence.js'
import { namespaceLifecycle } from './namespace-lifecycle.js'
import { nodeRestriction } from './node-restriction/node-restriction.js'
import { defaultTolerationSeconds, type StaySeconds, taintNodesByCondition } from './node-taints.js'
import { type OwnerMeans, ownerReferencesPermissionEnforcement } from './owner-references.js'
import type { AdmissionPlugin } from './plugin.js'
import { type NodeSelectors, podNodeSelector } from './pod-node-selector.js'
import { podPriority } from './pod-priority.js'
import { nodeDeclaredFeatureValidator, podResizeValidator } from './pod-resize.js'
import { podSecurity } from './pod-security/pod-security.js'
import type { PodSecuritySettings } from './pod-security/policy.js'
import {
  type ClusterTolerations,
  extendedResourceToleration,
  podTolerationRestriction,
} from './pod-tolerations.js'
import { podTopologyLabels } from './pod-topology-labels.js'
import { type Authorize, noAuthorizer } from './policies/cel.js'
import { mutatingAdmissionPolicy } from './policies/mutating-policy.js'
import type { ResourceOfKind } from './policies/policy-input.js'
import { validatingAdmissionPolicy } from './policies/validating-policy.js'
import type { LimitedResource } from './quota/limited-resources.js'
import { resourceQuota } from './quota/resource-quota.js'
import { runsAgain } from './reinvocation.js'
import { runtimeClass } from './runtime-class.js'
import { serviceAccount } from './service-account.js'
import { persistentVolumeClaimResize, storageObjectInUseProtection } from './storage-protection.js'
import type { EquivalentsOf } from './versioned-request.js'
import type { CredentialsOfHost } from './webhooks/call-webhook.js'
import type { WebhookFigures } from './webhooks/webhook-figures.js'
import { mutatingAdmissionWebhook, validatingAdmissionWebhook } from './webhooks/webhooks.js'

const pluginsFor = (
  authorizeSigner: AuthorizeSigner,
  means: OwnerMeans,
  settings: AdmissionSettings,
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
  ...(settings.ImagePolicyWebhook ? [imagePolicyWebhook(settings.ImagePolicyWebhook)] : []),
  podSecurity(settings.PodSecurity),
  podNodeSelector(settings.PodNodeSelector),
  podPriority,
  defaultTolerationSeconds(settings.DefaultTolerationSeconds),
  podTolerationRestriction(settings.PodTolerationRestriction),
  eventRateLimit(settings.EventRateLimit),
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
  'AlwaysDeny',
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'ImagePolicyWebhook',
  'LimitPodHardAntiAffinityTopology',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'NodeRestriction',
  'OwnerReferencesPermissionEnforcement',
  'PodNodeSelector',
  'PodTolerationRestriction',
])

/** Configurations of plugins, by plugin name. */
export interface AdmissionSettings {
  /** Missing: the plugin is not there. */
  readonly ImagePolicyWebhook?: ImagePolicy
  readonly PodSecurity?: PodSecuritySettings
  readonly PodNodeSelector?: NodeSelectors
  readonly DefaultTolerationSeconds?: StaySeconds
  readonly PodTolerationRestriction?: ClusterTolerations
  readonly EventRateLimit?: readonly EventLimit[]
  readonly MutatingAdmissionWebhook?: CredentialsOfHost
  readonly ValidatingAdmissionWebhook?: CredentialsOfHost
  readonly ResourceQuota?: readonly LimitedResource[]
}

export interface AdmissionOptions {
  /** Names of plugins to enable in addition to the default ones. */
  readonly enabled?: readonly string[]
  /** Names of plugins to disable. */
  readonly disabled?: readonly string[]
  readonly settings?: AdmissionSettings
  /** Missing: everybody may approve and sign. */
  readonly authorizeSigner?: AuthorizeSigner
  /** For expressions that name `authorizer`. Missing: nobody may do anything. */
  readonly authorize?: Authorize
  /** For the parameters of policies. Missing: policies have none. */
  readonly resourceOfKind?: ResourceOfKind
  /** For rules that name another version. Missing: a resource has one. */
  readonly equivalentsOf?: EquivalentsOf
  /** Missing: each review of a webhook has a connection of its own. */
  readonly webhookAgent?: https.Agent
  /** Missing: calls of webhooks are not counted. */
  readonly webhookFigures?: WebhookFigures
}

/** Whether the plugin of this name does. */
export const takesPart = (
  name: string,
  { enabled = [], disabled = [] }: Pick<AdmissionOptions, 'enabled' | 'disabled'>,
): boolean => !disabled.includes(name) && (!offByDefault.has(name) || enabled.includes(name))

/** The plugins by resource: most look at a few resources only, and calling each of them costs every write. */
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
    settings = {},
    authorizeSigner = async () => true,
    resourceOfKind = () => undefined,
    authorize = noAuthorizer,
    equivalentsOf = (definition) => [definition],
    webhookAgent: agent,
    webhookFigures: figures,
  } = options
  const means = { resourceOfKind, authorize, equivalentsOf }
  const access = (plugin: 'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook') => ({
    credentialsOf: settings[plugin],
    agent,
    figures,
  })
  const plugins = [
    ...pluginsFor(authorizeSigner, means, settings),
    mutatingAdmissionPolicy(means),
    mutatingAdmissionWebhook({ ...means, access: access('MutatingAdmissionWebhook') }),
    validatingAdmissionPolicy(means),
    validatingAdmissionWebhook({ ...means, access: access('ValidatingAdmissionWebhook') }),
    resourceQuota(settings.ResourceQuota),
    alwaysDeny,
  ].filter(({ name }) => takesPart(name, options))
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
