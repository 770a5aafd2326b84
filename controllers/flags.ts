/** The flags of the controller manager, upstream's by name and default, and the settings that they make. */
import { readFileSync } from 'node:fs'
import { messageOf } from '#client/errors.js'
import { leaderElectionFlags } from '#client/leader-election-flags.js'
import { servingFlags } from '#component/serving-flags.js'
import { limits } from '#limits'
import {
  between,
  type Flag,
  type Flags,
  notNegative,
  parseFlags,
  UsageError,
} from '#program/flags.js'
import type { ControllerSettings } from './controller.js'

/** Upstream's defaults of the mask size. */
const maskSizes = { 4: 24, 6: 64 } as const

/** By flag which controller's workers it counts, and how many upstream has. */
const workerFlags: Readonly<Record<string, readonly [controller: string, workers: number]>> = {
  'concurrent-cron-job-syncs': ['cronjob-controller', 5],
  'concurrent-daemonset-syncs': ['daemonset-controller', 2],
  'concurrent-deployment-syncs': ['deployment-controller', 5],
  'concurrent-device-taint-eviction-syncs': ['device-taint-eviction-controller', 8],
  'concurrent-endpoint-syncs': ['endpoints-controller', 5],
  'concurrent-ephemeralvolume-syncs': ['ephemeral-volume-controller', 5],
  'concurrent-gc-syncs': ['garbage-collector-controller', 20],
  'concurrent-horizontal-pod-autoscaler-syncs': ['horizontal-pod-autoscaler-controller', 5],
  'concurrent-job-syncs': ['job-controller', 5],
  'concurrent-namespace-syncs': ['namespace-controller', 10],
  'concurrent-rc-syncs': ['replicationcontroller-controller', 5],
  'concurrent-replicaset-syncs': ['replicaset-controller', 5],
  'concurrent-resource-quota-syncs': ['resourcequota-controller', 5],
  'concurrent-resourceclaim-syncs': ['resourceclaim-controller', 50],
  'concurrent-service-endpoint-syncs': ['endpointslice-controller', 5],
  'concurrent-serviceaccount-token-syncs': ['serviceaccount-token-controller', 5],
  'concurrent-statefulset-syncs': ['statefulset-controller', 5],
  'concurrent-ttl-after-finished-syncs': ['ttl-after-finished-controller', 5],
  'concurrent-validating-admission-policy-status-syncs': [
    'validatingadmissionpolicy-status-controller',
    5,
  ],
  'mirroring-concurrent-service-endpoint-syncs': ['endpointslice-mirroring-controller', 5],
}
const positive = (value: string): string | undefined =>
  Number(value) > 0 ? undefined : 'must be greater than 0'

export const flagTable: readonly Flag[] = [
  {
    name: 'controllers',
    type: 'strings',
    default: '*',
    help: "controllers to run, by upstream's names: '*' means all that are on by default, 'name' adds one, '-name' leaves one out",
  },
  ...leaderElectionFlags('kube-controller-manager'),
  ...servingFlags(10257),
  {
    name: 'node-monitor-grace-period',
    type: 'duration',
    default: '50s',
    help: 'how long a node may be silent before it counts as lost',
  },
  {
    name: 'node-startup-grace-period',
    type: 'duration',
    default: '1m0s',
    help: 'the same for a node that has not reported yet',
  },
  {
    name: 'node-monitor-period',
    type: 'duration',
    default: '5s',
    help: 'how often nodes are checked',
  },
  {
    name: 'node-eviction-rate',
    type: 'float',
    default: '0.1',
    check: notNegative,
    help: 'nodes per second whose Pods are evicted in a zone with lost nodes',
  },
  {
    name: 'secondary-node-eviction-rate',
    type: 'float',
    default: '0.01',
    check: notNegative,
    help: 'the same in a large zone that is unhealthy',
  },
  {
    name: 'unhealthy-zone-threshold',
    type: 'float',
    default: '0.55',
    check: notNegative,
    help: 'fraction of lost nodes from which a zone counts as unhealthy',
  },
  {
    name: 'large-cluster-size-threshold',
    type: 'integer',
    default: '50',
    check: notNegative,
    help: 'nodes up to which a zone counts as small: an unhealthy one evicts nothing',
  },
  {
    name: 'horizontal-pod-autoscaler-sync-period',
    type: 'duration',
    default: '15s',
    help: 'how often autoscalers are evaluated',
  },
  {
    name: 'horizontal-pod-autoscaler-tolerance',
    type: 'float',
    default: '0.1',
    check: notNegative,
    help: 'fraction by which a metric may deviate before an autoscaler acts',
  },
  {
    name: 'horizontal-pod-autoscaler-downscale-stabilization',
    type: 'duration',
    default: '5m0s',
    help: 'period whose highest recommendation bounds scaling down',
  },
  {
    name: 'horizontal-pod-autoscaler-cpu-initialization-period',
    type: 'duration',
    default: '5m0s',
    help: "period after a Pod's start in which its CPU use may be ignored",
  },
  {
    name: 'horizontal-pod-autoscaler-initial-readiness-delay',
    type: 'duration',
    default: '30s',
    help: "period after a Pod's start in which readiness changes count as its first",
  },
  {
    name: 'max-endpoints-per-slice',
    type: 'integer',
    default: '100',
    check: between(1, limits.endpointAddressesMax),
    help: 'most endpoints in one EndpointSlice, up to 1000',
  },
  {
    name: 'mirroring-max-endpoints-per-subset',
    type: 'integer',
    default: String(limits.endpointAddressesMax),
    check: between(1, limits.endpointAddressesMax),
    help: 'most addresses mirrored from one subset of Endpoints, up to 1000',
  },
  {
    name: 'endpoint-updates-batch-period',
    type: 'duration',
    default: '0s',
    help: 'how long changes of Pods are gathered before Endpoints are written',
  },
  {
    name: 'endpointslice-updates-batch-period',
    type: 'duration',
    default: '0s',
    help: 'the same for EndpointSlices',
  },
  {
    name: 'mirroring-endpointslice-updates-batch-period',
    type: 'duration',
    default: '0s',
    help: 'the same for mirrored Endpoints',
  },
  {
    name: 'resource-quota-sync-period',
    type: 'duration',
    default: '5m0s',
    help: 'how often quotas are recounted in full',
  },
  ...Object.entries(workerFlags).map(
    ([name, [controller, workers]]): Flag => ({
      name,
      type: 'integer',
      default: String(workers),
      check: positive,
      help: `objects that the ${controller} works on at once`,
    }),
  ),
  {
    name: 'terminated-pod-gc-threshold',
    type: 'integer',
    default: '12500',
    check: notNegative,
    help: 'number of finished Pods that are kept',
  },
  {
    name: 'legacy-service-account-token-clean-up-period',
    type: 'duration',
    default: '8760h0m0s',
    help: 'how long tokens in Secrets may be unused before they are marked, and marked before they are deleted',
  },
  {
    name: 'use-service-account-credentials',
    type: 'boolean',
    help: 'let each controller act as its own ServiceAccount of kube-system',
  },
  {
    name: 'allocate-node-cidrs',
    type: 'boolean',
    help: 'give each Node a CIDR for its Pods',
  },
  {
    name: 'cluster-cidr',
    type: 'strings',
    help: 'CIDRs that those of Nodes are taken from: one of IPv4, one of IPv6, or one of each',
  },
  {
    name: 'service-cluster-ip-range',
    type: 'strings',
    help: 'CIDRs of Services, which no Node gets',
  },
  {
    name: 'node-cidr-mask-size',
    type: 'integer',
    check: notNegative,
    help: "mask size of a Node's CIDR, if there is one family",
  },
  {
    name: 'node-cidr-mask-size-ipv4',
    type: 'integer',
    check: notNegative,
    help: `mask size of a Node's IPv4 CIDR (default ${maskSizes[4]})`,
  },
  {
    name: 'node-cidr-mask-size-ipv6',
    type: 'integer',
    check: notNegative,
    help: `mask size of a Node's IPv6 CIDR (default ${maskSizes[6]})`,
  },
  {
    name: 'root-ca-file',
    type: 'string',
    help: 'CA that is published as ConfigMap kube-root-ca.crt in every namespace',
  },
  {
    name: 'service-account-private-key-file',
    type: 'string',
    help: 'key that signs the tokens in Secrets of ServiceAccounts',
  },
  {
    name: 'cluster-signing-cert-file',
    type: 'string',
    help: 'CA that signs CertificateSigningRequests',
  },
  { name: 'cluster-signing-key-file', type: 'string', help: 'key of that CA' },
  {
    name: 'cluster-signing-duration',
    type: 'duration',
    default: '8760h0m0s',
    help: 'longest lifetime of the certificates that it signs',
  },
]

const nodeCidrsFrom = (flags: Flags): ControllerSettings['nodeCidrs'] => {
  if (!flags.boolean('allocate-node-cidrs')) return undefined
  const cluster = flags.list('cluster-cidr') ?? []
  if (cluster.length === 0)
    throw new UsageError('--cluster-cidr must be specified if allocate-node-cidrs is set')
  const maskSize = flags.number('node-cidr-mask-size')
  return {
    cluster,
    reserved: flags.list('service-cluster-ip-range') ?? [],
    maskSize4: flags.number('node-cidr-mask-size-ipv4') ?? maskSize ?? maskSizes[4],
    maskSize6: flags.number('node-cidr-mask-size-ipv6') ?? maskSize ?? maskSizes[6],
  }
}

const readPem = (flags: Flags, name: string): string | undefined => {
  const file = flags.text(name)
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--${name}: ${messageOf(error)}`)
  }
}

/** Throws a UsageError for flags that contradict each other and files that cannot be read. */
export const settingsFrom = (flags: Flags): ControllerSettings => ({
  podGcPeriodMs: 20_000,
  nodeMonitorGracePeriodMs: flags.milliseconds('node-monitor-grace-period')!,
  nodeStartupGracePeriodMs: flags.milliseconds('node-startup-grace-period')!,
  nodeMonitorPeriodMs: flags.milliseconds('node-monitor-period')!,
  autoscalerPeriodMs: flags.milliseconds('horizontal-pod-autoscaler-sync-period')!,
  autoscaling: {
    tolerance: flags.number('horizontal-pod-autoscaler-tolerance')!,
    downscaleStabilizationMs: flags.milliseconds(
      'horizontal-pod-autoscaler-downscale-stabilization',
    )!,
    cpuInitializationMs: flags.milliseconds('horizontal-pod-autoscaler-cpu-initialization-period')!,
    initialReadinessDelayMs: flags.milliseconds(
      'horizontal-pod-autoscaler-initial-readiness-delay',
    )!,
  },
  endpointsPerSliceMax: flags.number('max-endpoints-per-slice')!,
  mirroredPerSubsetMax: flags.number('mirroring-max-endpoints-per-subset')!,
  batchMs: {
    endpoints: flags.milliseconds('endpoint-updates-batch-period')!,
    slices: flags.milliseconds('endpointslice-updates-batch-period')!,
    mirrored: flags.milliseconds('mirroring-endpointslice-updates-batch-period')!,
  },
  quotaPeriodMs: flags.milliseconds('resource-quota-sync-period')!,
  workers: Object.fromEntries(
    Object.entries(workerFlags).map(([flag, [controller]]) => [controller, flags.number(flag)!]),
  ),
  terminatedPodGcThreshold: flags.number('terminated-pod-gc-threshold')!,
  legacyTokenCleanUpPeriodMs: flags.milliseconds('legacy-service-account-token-clean-up-period')!,
  nodeEvictionRate: flags.number('node-eviction-rate')!,
  secondaryNodeEvictionRate: flags.number('secondary-node-eviction-rate')!,
  unhealthyZoneThreshold: flags.number('unhealthy-zone-threshold')!,
  largeClusterSizeThreshold: flags.number('large-cluster-size-threshold')!,
  nodeCidrs: nodeCidrsFrom(flags),
  rootCa: readPem(flags, 'root-ca-file'),
  serviceAccountKey: readPem(flags, 'service-account-private-key-file'),
  clusterSigningCert: readPem(flags, 'cluster-signing-cert-file'),
  clusterSigningKey: readPem(flags, 'cluster-signing-key-file'),
  clusterSigningDurationMs: flags.milliseconds('cluster-signing-duration')!,
})

export const settingsDefault: ControllerSettings = settingsFrom(parseFlags([], flagTable))
