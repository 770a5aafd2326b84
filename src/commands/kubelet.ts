/** `kubelevel kubelet`: runs Pods as processes of this machine. The folder is imported when the command runs. */

import { kubeconfigFlag, readKubeconfigOf } from '#client/kubeconfig-flag.js'
import {
  type Flag,
  type Flags,
  helpFlag,
  notNegative,
  portProblem,
  UsageError,
  verbosityFlag,
} from '#program/flags.js'
import { bigIntToIp, parseCidr } from '#validation/network.js'
import { positive } from './flag-checks.js'
import type { ExitCode, Machine } from './machine.js'
import { keepHeapSmall } from './small-heap.js'

/** As many addresses as a Pod needs: neither the first nor the last of a range is a Pod's. */
const podCidrProblem = (value: string): string | undefined => {
  const range = parseCidr(value)
  const isUsable =
    range?.family === 'IPv4' &&
    range.size > 2n &&
    value.startsWith(`${bigIntToIp(range.base, 'IPv4')}/`)
  return value === 'none' || isUsable
    ? undefined
    : 'must be none or a network of IPv4 such as 10.244.0.0/16'
}

export const kubeletFlags: readonly Flag[] = [
  kubeconfigFlag,
  { name: 'node-name', type: 'string', help: 'name of the Node (default: the host name)' },
  {
    name: 'root-dir',
    type: 'string',
    default: '.kubelevel/kubelet',
    help: 'logs, volumes and state of Pods',
  },
  {
    name: 'pod-manifest-path',
    type: 'string',
    help: 'folder with manifests of static Pods, or one of them; followed as it changes',
  },
  {
    name: 'pod-cidr',
    type: 'string',
    check: podCidrProblem,
    help: 'range of Pod addresses; none gives Pods the address of the Node',
  },
  {
    name: 'container-runtime-endpoint',
    type: 'string',
    help: 'socket of a container runtime (CRI v1); without it Pods are processes of this host',
  },
  {
    name: 'cluster-dns',
    type: 'strings',
    help: "addresses of the cluster's DNS servers, for containers of a container runtime",
  },
  {
    name: 'cluster-domain',
    type: 'string',
    default: 'cluster.local',
    help: 'domain of the cluster',
  },
  {
    name: 'resolv-conf',
    type: 'string',
    default: '/etc/resolv.conf',
    help: "the node's DNS settings, which those of containers begin with",
  },
  {
    name: 'node-lease-duration-seconds',
    type: 'integer',
    check: positive,
    help: "duration of the node's Lease, which is renewed after a quarter of it (default 40)",
  },
  {
    name: 'port',
    type: 'integer',
    check: portProblem,
    help: "port of the kubelet's server; 0 takes a free one",
  },
  {
    name: 'leave-pods-running',
    type: 'boolean',
    help: 'leave the processes of Pods running at the end; the next kubelet adopts them',
  },
  {
    name: 'shutdown-grace-period',
    type: 'duration',
    help: "treat the kubelet's end as its node's: Pods fail within this time, e.g. 30s",
  },
  {
    name: 'shutdown-grace-period-critical-pods',
    type: 'duration',
    default: '0s',
    help: 'the part of it for Pods of priority class system-cluster-critical or system-node-critical, which end last',
  },
  {
    name: 'eviction-hard',
    type: 'strings',
    help: 'thresholds at which Pods are evicted at once, e.g. memory.available<100Mi,nodefs.available<10% (default: none)',
  },
  {
    name: 'eviction-soft',
    type: 'strings',
    help: 'thresholds at which Pods are evicted if the shortage lasts',
  },
  {
    name: 'eviction-soft-grace-period',
    type: 'strings',
    help: 'how long it has to last for each, e.g. memory.available=1m30s',
  },
  {
    name: 'eviction-minimum-reclaim',
    type: 'strings',
    help: 'how much more an eviction has to free, e.g. nodefs.available=500Mi',
  },
  {
    name: 'eviction-max-pod-grace-period',
    type: 'integer',
    default: '0',
    check: notNegative,
    help: 'longest grace, in seconds, of Pods that a soft threshold evicts',
  },
  {
    name: 'eviction-pressure-transition-period',
    type: 'duration',
    default: '5m0s',
    help: 'how long the Node goes on to report a shortage that is over',
  },
  {
    name: 'minimum-image-ttl-duration',
    type: 'duration',
    default: '2m0s',
    help: 'how long an image that nobody uses stays, even when the disk is full',
  },
  { ...verbosityFlag, help: 'log verbosity' },
  helpFlag,
]

/** As upstream's settings of that name: whole seconds, and nothing at all unless given. */
const readShutdownGrace = (flags: Flags) => {
  const seconds = (flags.milliseconds('shutdown-grace-period') ?? 0) / 1000
  const criticalSeconds = (flags.milliseconds('shutdown-grace-period-critical-pods') ?? 0) / 1000
  if ([seconds, criticalSeconds].some((value) => value > 0 && value < 1))
    throw new UsageError('--shutdown-grace-period and its part must be 1s or more')
  if (criticalSeconds > seconds)
    throw new UsageError(
      '--shutdown-grace-period-critical-pods must not be longer than --shutdown-grace-period',
    )
  if (seconds === 0) return undefined
  if (flags.boolean('leave-pods-running'))
    throw new UsageError('--shutdown-grace-period ends Pods, --leave-pods-running does not')
  return { seconds: Math.floor(seconds), criticalSeconds: Math.floor(criticalSeconds) }
}

export const kubelet = async (machine: Machine, flags: Flags): Promise<ExitCode> => {
  keepHeapSmall()
  const shutdownGrace = readShutdownGrace(flags)
  const config = await readKubeconfigOf(flags, machine.env.KUBECONFIG)
  const manifestPath = flags.text('pod-manifest-path')
  const manifests = manifestPath && {
    path: manifestPath,
    read: (await import('#commands/pod-manifest.js')).podManifestReader(),
  }
  const { runKubelet } = await import('#kubelet/main.js')
  await runKubelet({
    flags: flags.shown(),
    config,
    signal: machine.stopSignal,
    log: (line) => machine.stderr(`kubelet: ${line}\n`),
    verbosity: flags.number('v'),
    nodeName: flags.text('node-name'),
    rootDir: flags.text('root-dir'),
    containerRuntimeEndpoint: flags.text('container-runtime-endpoint'),
    clusterDns: flags.list('cluster-dns'),
    clusterDomain: flags.text('cluster-domain'),
    resolvConf: flags.text('resolv-conf'),
    podCidr: flags.text('pod-cidr'),
    ...(manifests ? { manifests } : {}),
    port: flags.number('port'),
    nodeLeaseDurationSeconds: flags.number('node-lease-duration-seconds'),
    ...(shutdownGrace ? { shutdownGrace } : {}),
    leavePodsRunning: flags.boolean('leave-pods-running'),
    eviction: {
      hard: flags.list('eviction-hard'),
      soft: flags.list('eviction-soft'),
      softGracePeriods: flags.list('eviction-soft-grace-period'),
      minimumReclaims: flags.list('eviction-minimum-reclaim'),
    },
    evictionPressureTransitionMs: flags.milliseconds('eviction-pressure-transition-period'),
    evictionMaxPodGraceSeconds: flags.number('eviction-max-pod-grace-period'),
    minimumImageTtlMs: flags.milliseconds('minimum-image-ttl-duration'),
  })
  return 0
}
