/** `--controllers` as kube-controller-manager 1.36 reads it. */
import { aggregate } from '#go/aggregate.js'
import { UsageError } from '#program/flags.js'
import type { Controller } from './controller.js'

/** Its names, each with the one that it had before and that is still taken. */
const upstreamNames: readonly (readonly [name: string, alias?: string])[] = [
  ['bootstrap-signer-controller', 'bootstrapsigner'],
  ['certificatesigningrequest-approving-controller', 'csrapproving'],
  ['certificatesigningrequest-cleaner-controller', 'csrcleaner'],
  ['certificatesigningrequest-signing-controller', 'csrsigning'],
  ['cloud-node-lifecycle-controller', 'cloud-node-lifecycle'],
  ['clusterrole-aggregation-controller', 'clusterrole-aggregation'],
  ['cronjob-controller', 'cronjob'],
  ['daemonset-controller', 'daemonset'],
  ['deployment-controller', 'deployment'],
  ['device-taint-eviction-controller'],
  ['disruption-controller', 'disruption'],
  ['endpoints-controller', 'endpoint'],
  ['endpointslice-controller', 'endpointslice'],
  ['endpointslice-mirroring-controller', 'endpointslicemirroring'],
  ['ephemeral-volume-controller', 'ephemeral-volume'],
  ['garbage-collector-controller', 'garbagecollector'],
  ['horizontal-pod-autoscaler-controller', 'horizontalpodautoscaling'],
  ['job-controller', 'job'],
  ['kube-apiserver-serving-clustertrustbundle-publisher-controller'],
  ['legacy-serviceaccount-token-cleaner-controller', 'legacy-service-account-token-cleaner'],
  ['namespace-controller', 'namespace'],
  ['node-ipam-controller', 'nodeipam'],
  ['node-lifecycle-controller', 'nodelifecycle'],
  ['node-route-controller', 'route'],
  ['persistentvolume-attach-detach-controller', 'attachdetach'],
  ['persistentvolume-binder-controller', 'persistentvolume-binder'],
  ['persistentvolume-expander-controller', 'persistentvolume-expander'],
  ['persistentvolume-protection-controller', 'pv-protection'],
  ['persistentvolumeclaim-protection-controller', 'pvc-protection'],
  ['pod-garbage-collector-controller', 'podgc'],
  ['podcertificaterequest-cleaner-controller'],
  ['podgroup-protection-controller'],
  ['replicaset-controller', 'replicaset'],
  ['replicationcontroller-controller', 'replicationcontroller'],
  ['resourceclaim-controller', 'resource-claim-controller'],
  ['resourcepoolstatusrequest-controller'],
  ['resourcequota-controller', 'resourcequota'],
  ['root-ca-certificate-publisher-controller', 'root-ca-cert-publisher'],
  ['selinux-warning-controller'],
  ['service-cidr-controller'],
  ['service-lb-controller', 'service'],
  ['serviceaccount-controller', 'serviceaccount'],
  ['serviceaccount-token-controller', 'serviceaccount-token'],
  ['statefulset-controller', 'statefulset'],
  ['storage-version-migrator-controller'],
  ['storageversion-garbage-collector-controller', 'storage-version-gc'],
  ['taint-eviction-controller'],
  ['token-cleaner-controller', 'tokencleaner'],
  ['ttl-after-finished-controller', 'ttl-after-finished'],
  ['ttl-controller', 'ttl'],
  ['validatingadmissionpolicy-status-controller'],
  ['volumeattributesclass-protection-controller'],
]
const known = new Set(upstreamNames.map(([name]) => name))
const nameOfAlias = new Map(
  upstreamNames.flatMap(([name, alias]) => (alias ? [[alias, name]] : [])),
)

/** An entry with its controller's present name. */
const canonical = (entry: string): string => {
  const sign = entry.startsWith('-') ? '-' : ''
  const name = entry.slice(sign.length)
  return `${sign}${nameOfAlias.get(name) ?? name}`
}

/**
 * `*,-name`: the first entry that names a controller decides, and `*` stands for all that are on by default. What upstream has and we do not is
 * a name like any other. Throws a UsageError for names that upstream does not know.
 */
export const selectControllers = (
  wanted: readonly string[],
  all: readonly Controller[],
): Controller[] => {
  const entries = wanted.map(canonical)
  const unknown = entries
    .filter((entry) => entry !== '*')
    .map((entry) => entry.replace(/^-/, ''))
    .filter((name) => !known.has(name))
    .map((name) => `${JSON.stringify(name)} is not in the list of known controllers`)
  const problem = aggregate(unknown)
  if (problem !== undefined) throw new UsageError(problem)
  return all.filter(({ name, isOffByDefault = false }) => {
    const first = entries.find((entry) => entry === name || entry === `-${name}`)
    return first === undefined ? entries.includes('*') && !isOffByDefault : first === name
  })
}
