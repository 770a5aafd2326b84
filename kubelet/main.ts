/** The kubelet process: `kubelevel kubelet`. */
import os from 'node:os'
import path from 'node:path'
import type { Clock } from '#api/clock.js'
import { whenAborted } from '#async/sleep.js'
import { createClient } from '#client/client.js'
import { followClock } from '#client/follow-clock.js'
import type { ClientConfig } from '#client/kubeconfig.js'
import type { Log } from '#client/log.js'
import { limits } from '#limits'
import { machineAddress } from '#net/machine-address.js'
import { makeFolders } from '#program/make-folders.js'
import { readThresholds, type ThresholdTexts } from './eviction/thresholds.js'
import { Kubelet } from './kubelet.js'
import { leaseSecondsDefault } from './node/node.js'
import type { ShutdownGrace } from './node/node-shutdown.js'
import { type BackoffOptions, defaultBackoff } from './restart-backoff.js'
import { defaultPodCidr } from './runtime/process/pod-address.js'
import { ProcessRuntime } from './runtime/process/process-runtime.js'
import type { ContainerRuntime } from './runtime.js'
import { kubeletConfiguration } from './server/kubelet-configuration.js'
import { startKubeletServer } from './server/kubelet-server.js'
import { Manifests, type ReadManifest } from './static-pods/manifests.js'

interface KubeletOptions {
  /** What it was started with, for /flagz. */
  flags?: Readonly<Record<string, string>>
  config: ClientConfig
  /** Ends the kubelet and, unless told otherwise, the processes of its Pods. */
  signal: AbortSignal
  log: (line: string) => void
  verbosity?: number
  /** Default: the host name. */
  nodeName?: string
  /** Duration of the node's Lease, which is renewed after a quarter of that. */
  nodeLeaseDurationSeconds?: number
  rootDir?: string
  /** Range of Pod addresses, `none` for the node's own. */
  podCidr?: string
  /** Socket of a container runtime that speaks CRI v1; missing, Pods are processes of this host. */
  containerRuntimeEndpoint?: string
  /** Addresses of the cluster's DNS servers; none: Pods use the node's. */
  clusterDns?: readonly string[]
  /** Default: cluster.local. */
  clusterDomain?: string
  /** The node's own; default: /etc/resolv.conf. */
  resolvConf?: string
  /** Port of the kubelet's own server; 0 picks one. */
  port?: number
  /** Where the manifests of static Pods lie, and how they are read. */
  manifests?: { readonly path: string; readonly read: ReadManifest }
  /** At the end leave every process running, as upstream's kubelet does; the next kubelet adopts them. */
  leavePodsRunning?: boolean
  /** The node shuts down with the kubelet: its Pods end as failed, in this time. */
  shutdownGrace?: ShutdownGrace
  /** Longest grace for Pods when the kubelet ends. */
  shutdownGraceSeconds?: number
  backoff?: BackoffOptions
  /** Eviction thresholds, as the flags have them. Default: none. */
  eviction?: ThresholdTexts
  evictionPressureTransitionMs?: number
  evictionMaxPodGraceSeconds?: number
  minimumImageTtlMs?: number
}

const makeLog = (print: (line: string) => void, verbosity: number): Log => {
  const at =
    (level: number, name: string) =>
    (fields: object, message: string): void => {
      if (verbosity >= level) print(`${name} ${message} ${JSON.stringify(fields)}`)
    }
  return { debug: at(4, 'debug'), info: at(1, 'info'), warn: at(0, 'warn'), error: at(0, 'error') }
}

/** The environment of every container: PATH. */
const baseEnvironment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ...(process.env.HOME === undefined ? {} : { HOME: process.env.HOME }),
})

/** Processes of this host, unless a container runtime is named; its code is loaded only then. */
const makeRuntime = async (
  options: KubeletOptions,
  at: { rootDir: string; nodeAddress: string; nodeName: string; clock: Clock; log: Log },
): Promise<ContainerRuntime> => {
  const { rootDir, nodeAddress, nodeName, clock, log } = at
  const endpoint = options.containerRuntimeEndpoint
  if (endpoint) {
    const { CriRuntime } = await import('./runtime/cri/cri-runtime.js')
    return new CriRuntime({ endpoint, root: path.join(rootDir, 'cri'), clock, log, nodeName })
  }
  return new ProcessRuntime({
    root: path.join(rootDir, 'runtime'),
    clock,
    baseEnv: baseEnvironment(),
    podCidr: options.podCidr ?? defaultPodCidr,
    nodeAddress,
  })
}

/** Resolves after the signal has fired and everything has ended. */
export const runKubelet = async (options: KubeletOptions): Promise<void> => {
  const nodeName = (options.nodeName ?? os.hostname()).toLowerCase()
  const nodeAddress = machineAddress()
  const rootDir = path.resolve(options.rootDir ?? '.kubelevel/kubelet')
  makeFolders(rootDir, 0o700)
  const log = makeLog(options.log, options.verbosity ?? 0)
  const client = createClient(options.config, 'kubelet')
  const over = new AbortController()
  const clock = followClock({ client, log, signal: over.signal })
  const nodeLeaseSeconds = options.nodeLeaseDurationSeconds ?? leaseSecondsDefault
  const dns = {
    clusterDns: options.clusterDns ?? [],
    clusterDomain: options.clusterDomain ?? 'cluster.local',
    resolvConf: options.resolvConf ?? '/etc/resolv.conf',
  }
  const { backoff = defaultBackoff, eviction: thresholds = {}, shutdownGrace } = options
  const eviction = {
    pressureTransitionMs: options.evictionPressureTransitionMs ?? 300_000,
    imageAgeMsMin: options.minimumImageTtlMs ?? 120_000,
    maxPodGraceSeconds: options.evictionMaxPodGraceSeconds ?? 0,
  }
  const runtime = await makeRuntime(options, { rootDir, nodeAddress, nodeName, clock, log })
  const kubelet = new Kubelet({
    client,
    clock,
    log,
    runtime,
    nodeName,
    nodeAddress,
    nodeLeaseSeconds,
    rootDir,
    dns,
    backoff,
    eviction: { ...eviction, thresholds: readThresholds(thresholds) },
    manifests: options.manifests && new Manifests({ ...options.manifests, nodeName, clock, log }),
    port: () => server?.port ?? 0,
  })
  const server = await startKubeletServer({
    kubelet,
    flags: options.flags,
    configuration: (port) =>
      kubeletConfiguration({
        ...eviction,
        address: nodeAddress,
        port,
        manifestPath: options.manifests?.path,
        containerRuntimeEndpoint: options.containerRuntimeEndpoint,
        nodeLeaseSeconds,
        dns,
        backoffMaxMs: backoff.maxMs,
        thresholds,
        shutdownGrace,
      }),
    clock,
    log,
    address: nodeAddress,
    port: options.port ?? 0,
    client,
  })
  try {
    await Promise.race([kubelet.start(), whenAborted(options.signal)])
    await whenAborted(options.signal)
  } finally {
    if (shutdownGrace) await kubelet.shutDown(shutdownGrace)
    await kubelet.stop({
      graceSeconds: options.leavePodsRunning
        ? undefined
        : (options.shutdownGraceSeconds ?? limits.shutdownGraceSecondsMax),
    })
    await server.close()
    over.abort()
    client.close()
  }
}
