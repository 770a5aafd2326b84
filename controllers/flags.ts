/** The flags of the controller manager, upstream's by name and default, and the settings that they make. */
import { readFileSync } from 'node:fs'
import { between, type Flag, type Flags, notNegative, parseFlags, UsageError } from '#api/flags.js'
import { messageOf } from '#client/errors.js'
import { leaderElectionFlags } from '#client/leader-election-flags.js'
import { limits } from '#limits'
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
    help: "which to run: '*' is all that are on by default, 'name' one, '-name' all but one; upstream's names",
  },
  ...leaderElectionFlags('kube-controller-manager'),
  {
    name: 'node-monitor-grace-period',
    type: 'duration',
    default: '50s',
    help: 'silence after which a node counts as lost',
  },
  {
    name: 'node-startup-grace-period',
    type: 'duration',
    default: '1m0s',
    help: 'the same of a node that has said nothing yet',
  },
  {
    name: 'node-monitor-period',
    type: 'duration',
    default: '5s',
    help: 'how often nodes are looked at',
  },
  {
    name: 'node-eviction-rate',
    type: 'float',
    default: '0.1',
    check: notNegative,
    help: 'nodes of a zone a second whose Pods are given up',
  },
  {
    name: 'secondary-node-eviction-rate',
    type: 'float',
    default: '0.01',
    check: notNegative,
    help: 'the same in a large zone that is mostly unhealthy',
  },
  {
    name: 'unhealthy-zone-threshold',
    type: 'float',
    default: '0.55',
    check: notNegative,
    help: 'part of the nodes of a zone, from which on it is unhealthy',
  },
  {
    name: 'large-cluster-size-threshold',
    type: 'integer',
    default: '50',
    check: notNegative,
    help: 'nodes up to which an unhealthy zone gives up none',
  },
  {
    name: 'horizontal-pod-autoscaler-sync-period',
    type: 'duration',
    default: '15s',
    help: 'how often autoscalers are looked at',
  },
  {
    name: 'horizontal-pod-autoscaler-tolerance',
    type: 'float',
    default: '0.1',
    check: notNegative,
    help: 'deviations below this part are noise',
  },
  {
    name: 'horizontal-pod-autoscaler-downscale-stabilization',
    type: 'duration',
    default: '5m0s',
    help: 'for how long no recommendation is gone below',
  },
  {
    name: 'horizontal-pod-autoscaler-cpu-initialization-period',
    type: 'duration',
    default: '5m0s',
    help: 'for how long what starting Pods use of the processor may be passed over',
  },
  {
    name: 'horizontal-pod-autoscaler-initial-readiness-delay',
    type: 'duration',
    default: '30s',
    help: 'for how long a change of readiness is the first',
  },
  {
    name: 'max-endpoints-per-slice',
    type: 'integer',
    default: '100',
    check: between(1, limits.endpointAddressesMax),
    help: 'endpoints of one EndpointSlice, 1000 at most',
  },
  {
    name: 'mirroring-max-endpoints-per-subset',
    type: 'integer',
    default: String(limits.endpointAddressesMax),
    check: between(1, limits.endpointAddressesMax),
    help: 'addresses of a subset of Endpoints that are mirrored, 1000 at most',
  },
  {
    name: 'endpoint-updates-batch-period',
    type: 'duration',
    default: '0s',
    help: 'how long changes of Pods wait for more before Endpoints are written',
  },
  {
    name: 'endpointslice-updates-batch-period',
    type: 'duration',
    default: '0s',
    help: 'the same of EndpointSlices',
  },
  {
    name: 'mirroring-endpointslice-updates-batch-period',
    type: 'duration',
    default: '0s',
    help: 'the same of Endpoints that are mirrored',
  },
  {
    name: 'resource-quota-sync-period',
    type: 'duration',
    default: '5m0s',
    help: 'how often quotas are counted anew',
  },
  ...Object.entries(workerFlags).map(
    ([name, [controller, workers]]): Flag => ({
      name,
      type: 'integer',
      default: String(workers),
      check: positive,
      help: `keys that the ${controller} works on at once`,
    }),
  ),
  {
    name: 'terminated-pod-gc-threshold',
    type: 'integer',
    default: '12500',
    check: notNegative,
    help: 'finished Pods that may stay',
  },
  {
    name: 'legacy-service-account-token-clean-up-period',
    type: 'duration',
    default: '8760h0m0s',
    help: 'for how long tokens in Secrets may go unused, and be marked as such',
  },
  {
    name: 'allocate-node-cidrs',
    type: 'boolean',
    help: 'give each Node a range of addresses for its Pods',
  },
  {
    name: 'cluster-cidr',
    type: 'strings',
    help: 'out of these: one of IPv4, one of IPv6, or one of each',
  },
  { name: 'service-cluster-ip-range', type: 'strings', help: 'but not out of these' },
  {
    name: 'node-cidr-mask-size',
    type: 'integer',
    check: notNegative,
    help: "size of a Node's range, of either family",
  },
  {
    name: 'node-cidr-mask-size-ipv4',
    type: 'integer',
    check: notNegative,
    help: `of IPv4 (default ${maskSizes[4]})`,
  },
  {
    name: 'node-cidr-mask-size-ipv6',
    type: 'integer',
    check: notNegative,
    help: `of IPv6 (default ${maskSizes[6]})`,
  },
  {
    name: 'root-ca-file',
    type: 'string',
    help: 'CA that every namespace gets as ConfigMap kube-root-ca.crt',
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
  { name: 'cluster-signing-key-file', type: 'string', help: 'its key' },
  {
    name: 'cluster-signing-duration',
    type: 'duration',
    default: '8760h0m0s',
    help: 'how long its certificates last at most',
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
