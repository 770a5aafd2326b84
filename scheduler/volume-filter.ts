/** What a Pod's volumes rule out. Upstream: VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone. */
import { matchesNodeSelector } from '#client/node-affinity.js'
import { keyOf } from '#client/object-store.js'
import { claimNames, type Volume } from '#client/persistent-volume.js'
import type { Node, Pod } from '#client/pod.js'
import { diskConflicts } from './disk-conflicts.js'
import { curable, type Filter, hopeless, type Refusal } from './filter.js'
import type { NodeInfo } from './node-info.js'
import type { ClaimFindings } from './volume-claims.js'

interface VolumeSituation {
  findings: ClaimFindings
  /** More volumes than the node can have attached. */
  isTooMany?: ((info: NodeInfo) => boolean) | undefined
  /** Why the waiting claims can get no volumes there, in upstream's words. */
  bindingProblem(node: Node): string | undefined
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

/** A volume that is not there, or not for the node: the first that is found. */
const boundProblem = ({ bound }: ClaimFindings, node: Node): string | undefined => {
  for (const { volume } of bound) {
    if (volume === undefined)
      return 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'
    if (!matchesNodeSelector(volume.spec.nodeAffinity?.required, node))
      return "node(s) didn't match PersistentVolume's node affinity"
  }
  return undefined
}

class VolumeFilter implements Filter {
  readonly #situation: VolumeSituation
  readonly #isInConflict: ((other: Pod) => boolean) | undefined
  /** Claims that only one Pod may use, as far as that is looked at. */
  readonly #exclusive: readonly string[]
  /** How often they are used already. */
  #uses: number

  constructor(
    situation: VolumeSituation,
    isInConflict: ((other: Pod) => boolean) | undefined,
    { exclusive, uses }: { exclusive: readonly string[]; uses: number },
  ) {
    this.#situation = situation
    this.#isInConflict = isInConflict
    this.#exclusive = exclusive
    this.#uses = uses
  }

  refuse(info: NodeInfo): Refusal | undefined {
    const { findings, isTooMany, bindingProblem } = this.#situation
    if (this.#isInConflict !== undefined && [...info.pods.values()].some(this.#isInConflict))
      return curable('node(s) had no available disk')
    if (this.#uses > 0)
      return curable(
        'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
      )
    if (isTooMany?.(info)) return curable('node(s) exceed max volume count')
    const reasons = [boundProblem(findings, info.node!), bindingProblem(info.node!)].filter(
      (reason) => reason !== undefined,
    )
    if (reasons.length > 0) return { reasons, hopeless: true }
    const isElsewhere = findings.bound.some(
      ({ volume, isEphemeral }) => !isEphemeral && !isInZone(volume!, info.node!),
    )
    return isElsewhere ? hopeless('node(s) had no available volume zone') : undefined
  }

  clone(): VolumeFilter {
    const counted = { exclusive: this.#exclusive, uses: this.#uses }
    return new VolumeFilter(this.#situation, this.#isInConflict, counted)
  }

  count(other: Pod, _info: NodeInfo, by: 1 | -1): void {
    const used = claimNames(other).filter((name) => this.#exclusive.includes(name))
    this.#uses += by * used.length
  }
}

/** `nodes` are all, with what runs on them. */
export const volumeFilter = (
  pod: Pod,
  situation: VolumeSituation,
  nodes: readonly NodeInfo[],
): Filter | undefined => {
  const { waiting, bound, exclusive } = situation.findings
  const isInConflict = diskConflicts(pod)
  if (waiting.length + bound.length === 0 && isInConflict === undefined) return undefined
  const used = new Set<string>()
  if (exclusive.length > 0)
    for (const info of nodes)
      for (const other of info.pods.values())
        if (other.metadata.namespace === pod.metadata.namespace && keyOf(other) !== keyOf(pod))
          for (const name of claimNames(other)) used.add(name)
  const uses = exclusive.filter((name) => used.has(name)).length
  // As upstream, Pods that made room for themselves use no claim unless something else is looked at anyway.
  const isLookedAt = uses > 0 || isInConflict !== undefined
  return new VolumeFilter(situation, isInConflict, {
    exclusive: isLookedAt ? exclusive : [],
    uses,
  })
}
