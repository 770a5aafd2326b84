/** What a Pod's claims mean for where it can go. Upstream: VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone. */
import { matchesNodeSelector } from '#client/node-affinity.js'
import {
  type Claim,
  claimNames,
  findVolume,
  type StorageClass,
  type Volume,
  waitsForConsumer,
} from '#client/persistent-volume.js'
import type { Node, Pod } from '#client/pod.js'

interface Lookup<T> {
  get(key: string): T | undefined
}
export interface VolumeStores {
  claims: Lookup<Claim>
  volumes: Lookup<Volume>
  classes: Lookup<StorageClass>
}
export interface Waiting {
  claim: Claim
  storageClass: StorageClass
}
export interface ClaimFindings {
  /** Why the Pod can go nowhere yet, in upstream's words. */
  problem?: string
  /** Claims that are bound only when it is known which node the Pod goes to. */
  waiting: Waiting[]
  /** Volumes that it has already; undefined for one that is gone. */
  bound: (Volume | undefined)[]
  /** Claims that only one Pod may use. */
  exclusive: string[]
}

/** Such a class makes no volumes: those that are there have to do. */
const noProvisioner = 'kubernetes.io/no-provisioner'

export const inspectClaims = (pod: Pod, stores: VolumeStores): ClaimFindings => {
  const found: ClaimFindings = { waiting: [], bound: [], exclusive: [] }
  for (const name of claimNames(pod)) {
    const claim = stores.claims.get(`${pod.metadata.namespace}/${name}`)
    const problem = problemOf(name, claim)
    if (claim === undefined || problem !== undefined) return { ...found, problem: problem! }
    if (claim.spec.accessModes?.includes('ReadWriteOncePod')) found.exclusive.push(name)
    if (claim.status?.phase === 'Bound') {
      found.bound.push(stores.volumes.get(claim.spec.volumeName!))
      continue
    }
    const storageClass = stores.classes.get(claim.spec?.storageClassName ?? '')
    if (storageClass === undefined || !waitsForConsumer(storageClass))
      return { ...found, problem: 'pod has unbound immediate PersistentVolumeClaims' }
    found.waiting.push({ claim, storageClass })
  }
  return found
}

const problemOf = (name: string, claim: Claim | undefined): string | undefined => {
  if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
  if (claim.metadata.deletionTimestamp !== undefined)
    return `persistentvolumeclaim "${name}" is being deleted`
  if (claim.status?.phase === 'Lost')
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName}"`
  return undefined
}

/** The volumes that are there for the waiting claims on this node; undefined when one can get none. */
export const volumesOnNode = (
  { waiting }: Pick<ClaimFindings, 'waiting'>,
  volumes: readonly Volume[],
  node: Node,
): Map<Claim, Volume | undefined> | undefined => {
  const chosen = new Map<Claim, Volume | undefined>()
  let free = volumes.filter((v) => matchesNodeSelector(v.spec.nodeAffinity?.required, node))
  for (const { claim, storageClass } of waiting) {
    const volume = findVolume(claim, free)
    if (volume === undefined && storageClass.provisioner === noProvisioner) return undefined
    chosen.set(claim, volume)
    free = free.filter((v) => v !== volume)
  }
  return chosen
}

const zoneLabels = [
  ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'],
  ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
] as const

/** Volumes name their zones in labels, several with `__` between them; a node without such labels is anywhere. */
const isInZone = (volume: Volume, node: Node): boolean => {
  const { labels: here = {} } = node.metadata
  if (!zoneLabels.flat().some((label) => here[label] !== undefined)) return true
  return zoneLabels.every(([label, old]) =>
    [label, old].every((key) => {
      const zones = volume.metadata.labels?.[key]?.split('__')
      return zones === undefined || zones.includes(here[key] ?? here[label] ?? '')
    }),
  )
}

/** What rules the node out, and whether it could help if others left. */
export const volumeProblem = (
  findings: ClaimFindings,
  { volumes, node, usesClaim, hasTooMany }: VolumeSituation,
): { reason: string; hopeless: boolean } | undefined => {
  if (findings.exclusive.some(usesClaim))
    return {
      reason:
        'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
      hopeless: false,
    }
  if (hasTooMany) return { reason: 'node(s) exceed max volume count', hopeless: false }
  if (findings.bound.some((volume) => volume === undefined))
    return {
      reason: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
      hopeless: true,
    }
  if (findings.bound.some((v) => !matchesNodeSelector(v!.spec.nodeAffinity?.required, node)))
    return { reason: "node(s) didn't match PersistentVolume's node affinity", hopeless: true }
  if (volumesOnNode(findings, volumes, node) === undefined)
    return { reason: "node(s) didn't find available persistent volumes to bind", hopeless: true }
  if (findings.bound.some((volume) => !isInZone(volume!, node)))
    return { reason: 'node(s) had no available volume zone', hopeless: true }
  return undefined
}
export interface VolumeSituation {
  volumes: readonly Volume[]
  node: Node
  /** Whether another Pod that has a node uses the claim. */
  usesClaim(name: string): boolean
  /** More volumes than the node can have attached. */
  hasTooMany: boolean
}
