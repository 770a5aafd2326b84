/** The controller manager: `kubelevel controller-manager`. All controllers in one process, over shared informers. */
import { readFileSync } from 'node:fs'
import { createEventRecorder, type EventRecorder } from '#client/event-recorder.js'
import { InformerFactory } from '#client/informer-factory.js'
import { runElected } from '#client/leader-election.js'
import type { Flags, ProcessDeps, ProcessSpec } from '#client/run-process.js'
import type { ControllerContext, ControllerSettings } from './controller.js'
import { controllers } from './controllers.js'
import { selectControllers } from './select-controllers.js'

export interface ControllerManagerOptions extends ProcessDeps {
  /** As upstream's --controllers. Default: `['*']`. */
  controllers?: readonly string[]
  settings?: Partial<ControllerSettings>
  /** Waits for the Lease kube-system/kube-controller-manager. Default false: one manager runs. */
  leaderElect?: boolean
  acceptNamespace?(namespace: string): boolean
}

/** Upstream's defaults. */
export const settingsDefault: ControllerSettings = {
  nodeMonitorGracePeriodMs: 50_000,
  nodeMonitorPeriodMs: 5_000,
  autoscalerPeriodMs: 15_000,
  terminatedPodGcThreshold: 12_500,
  podGcPeriodMs: 20_000,
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  unhealthyZoneThreshold: 0.55,
  largeClusterSizeThreshold: 50,
}

const control = async (options: ControllerManagerOptions, signal: AbortSignal): Promise<void> => {
  const { client, clock, log, acceptNamespace } = options
  const informers = new InformerFactory({
    client,
    log,
    ...(acceptNamespace ? { acceptNamespace } : {}),
  })
  const recorders = new Map<string, EventRecorder>()
  const recorder = (component: string): EventRecorder => {
    const known = recorders.get(component) ?? createEventRecorder({ client, component, clock, log })
    recorders.set(component, known)
    return known
  }
  const context: ControllerContext = {
    client,
    informers,
    recorder,
    clock,
    log,
    settings: { ...settingsDefault, ...options.settings },
    acceptNamespace,
  }
  const runs = selectControllers(options.controllers ?? ['*'], controllers).map((c) =>
    c.start(context),
  )
  // Acting on half of what is there would create or delete too much.
  await informers.start(signal)
  log.info({ controllers: runs.length }, 'controllers run')
  await Promise.all(runs.map((run) => run(signal)))
  await informers.stopped()
  await Promise.all([...recorders.values()].map((r) => r.flush()))
}

/** Resolves after the signal of `options` fired and everything has ended. */
export const runControllerManager = async (options: ControllerManagerOptions): Promise<void> => {
  if (!options.leaderElect) return control(options, options.signal)
  return runElected(options, {
    name: 'kube-controller-manager',
    component: 'kube-controller-manager',
    lead: (signal) => control(options, signal),
  })
}

const milliseconds = (flag: unknown): number | undefined => {
  if (flag === undefined) return undefined
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(flag))
  if (match === null) throw new Error(`invalid duration "${String(flag)}"`)
  const unit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[match[2] as 'ms' | 's' | 'm' | 'h']
  return Number(match[1]) * unit
}
const count = (flag: unknown): number | undefined => {
  if (flag === undefined) return undefined
  const number = Number(flag)
  if (flag === '' || !(number >= 0)) throw new Error(`invalid number "${String(flag)}"`)
  return number
}
const list = (flag: unknown): string[] => (flag ? String(flag).split(',') : [])

/** Upstream's defaults of the mask size. */
const maskSizes = { 4: 24, 6: 64 } as const

const nodeCidrsFrom = (flags: Flags): ControllerSettings['nodeCidrs'] => {
  if (flags['allocate-node-cidrs'] !== true) return undefined
  const cluster = list(flags['cluster-cidr'])
  if (cluster.length === 0)
    throw new Error('--cluster-cidr must be specified if allocate-node-cidrs is set')
  const maskSize = count(flags['node-cidr-mask-size'])
  return {
    cluster,
    reserved: list(flags['service-cluster-ip-range']),
    maskSize4: count(flags['node-cidr-mask-size-ipv4']) ?? maskSize ?? maskSizes[4],
    maskSize6: count(flags['node-cidr-mask-size-ipv6']) ?? maskSize ?? maskSizes[6],
  }
}
const pem = (flag: unknown): string | undefined =>
  flag === undefined ? undefined : readFileSync(String(flag), 'utf8')

const settingsFrom = (flags: Flags): Partial<ControllerSettings> => {
  const given = {
    nodeMonitorGracePeriodMs: milliseconds(flags['node-monitor-grace-period']),
    nodeMonitorPeriodMs: milliseconds(flags['node-monitor-period']),
    autoscalerPeriodMs: milliseconds(flags['horizontal-pod-autoscaler-sync-period']),
    terminatedPodGcThreshold: count(flags['terminated-pod-gc-threshold']),
    nodeEvictionRate: count(flags['node-eviction-rate']),
    secondaryNodeEvictionRate: count(flags['secondary-node-eviction-rate']),
    unhealthyZoneThreshold: count(flags['unhealthy-zone-threshold']),
    largeClusterSizeThreshold: count(flags['large-cluster-size-threshold']),
    nodeCidrs: nodeCidrsFrom(flags),
    rootCa: pem(flags['root-ca-file']),
    serviceAccountKey: pem(flags['service-account-private-key-file']),
    clusterSigningCert: pem(flags['cluster-signing-cert-file']),
    clusterSigningKey: pem(flags['cluster-signing-key-file']),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

export const controllerManagerProcess: ProcessSpec = {
  name: 'controller-manager',
  agent: 'kube-controller-manager',
  flags: {
    controllers: { type: 'string', multiple: true },
    'leader-elect': { type: 'boolean' },
    'node-monitor-grace-period': { type: 'string' },
    'node-monitor-period': { type: 'string' },
    'horizontal-pod-autoscaler-sync-period': { type: 'string' },
    'node-eviction-rate': { type: 'string' },
    'secondary-node-eviction-rate': { type: 'string' },
    'unhealthy-zone-threshold': { type: 'string' },
    'large-cluster-size-threshold': { type: 'string' },
    'terminated-pod-gc-threshold': { type: 'string' },
    'allocate-node-cidrs': { type: 'boolean' },
    'cluster-cidr': { type: 'string' },
    'service-cluster-ip-range': { type: 'string' },
    'node-cidr-mask-size': { type: 'string' },
    'node-cidr-mask-size-ipv4': { type: 'string' },
    'node-cidr-mask-size-ipv6': { type: 'string' },
    'root-ca-file': { type: 'string' },
    'service-account-private-key-file': { type: 'string' },
    'cluster-signing-cert-file': { type: 'string' },
    'cluster-signing-key-file': { type: 'string' },
  },
  help: `  --controllers LIST                      which to run: '*' is all, 'name' one, '-name' all but one; upstream's names
  --leader-elect                          work only while holding the Lease kube-system/kube-controller-manager
  --node-monitor-grace-period DURATION    silence after which a node counts as lost (50s)
  --node-monitor-period DURATION          how often nodes are looked at (5s)
  --node-eviction-rate N                  nodes of a zone a second whose Pods are given up (0.1)
  --secondary-node-eviction-rate N        the same in a large zone that is mostly unhealthy (0.01)
  --unhealthy-zone-threshold PART         of a zone's nodes, from which on it is unhealthy (0.55)
  --large-cluster-size-threshold N        nodes up to which an unhealthy zone gives up none (50)
  --horizontal-pod-autoscaler-sync-period DURATION
                                          how often autoscalers are looked at (15s)
  --terminated-pod-gc-threshold N         finished Pods that may stay (12500)
  --allocate-node-cidrs                   give each Node a range of addresses for its Pods
  --cluster-cidr CIDRS                    out of these: one of IPv4, one of IPv6, or one of each
  --service-cluster-ip-range CIDRS        but not out of these
  --node-cidr-mask-size[-ipv4|-ipv6] N    size of a Node's range (24 and 64)
  --root-ca-file FILE                     CA that every namespace gets as ConfigMap kube-root-ca.crt
  --service-account-private-key-file FILE key that signs the tokens in Secrets of ServiceAccounts
  --cluster-signing-cert-file FILE        CA that signs CertificateSigningRequests
  --cluster-signing-key-file FILE         its key
`,
  run: (deps, flags) =>
    runControllerManager({
      ...deps,
      controllers: ((flags.controllers ?? ['*']) as string[]).flatMap((list) =>
        list === '' ? [] : list.split(','),
      ),
      leaderElect: flags['leader-elect'] === true,
      settings: settingsFrom(flags),
    }),
}
