/** Whether claims that waited for their Pod have their volumes. Upstream: checkBindings of VolumeBinding. */
import { matchesNodeSelector } from '#client/node-affinity.js'
import { bindCompleted, type Claim, selectedNode, type Volume } from '#client/persistent-volume.js'
import type { Node } from '#client/pod.js'
import type { VolumeStores } from './volume-claims.js'

/** For each claim the volume that was promised to it, or undefined where one is to be made. */
export type ChosenVolumes = ReadonlyMap<Claim, Volume | undefined>

/** A volume that is not there yet may only be late. */
const mustSuit = (volume: Volume | undefined, node: Node): void => {
  if (volume === undefined || matchesNodeSelector(volume.spec.nodeAffinity?.required, node)) return
  const [name, nodeName] = [volume.metadata.name, node.metadata.name]
  throw new Error(
    `pv "${name}" node affinity doesn't match node "${nodeName}": no matching NodeSelectorTerms`,
  )
}

/** Throws if they will not get them, in upstream's words. */
export const areBound = (
  chosen: ChosenVolumes,
  node: Node,
  { claims, volumes }: Pick<VolumeStores, 'claims' | 'volumes'>,
): boolean => {
  for (const [{ metadata }, promised] of chosen) {
    const what = promised === undefined ? 'provisioning pvc' : 'binding'
    const missing = (resource: string, key: string) =>
      new Error(`failed to check ${what}: ${resource} "${key}" not found`)
    const key = `${metadata.namespace}/${metadata.name}`
    const claim = claims.get(key)
    if (claim === undefined) throw missing('persistentvolumeclaims', key)
    const { volumeName } = claim.spec
    if (promised === undefined) {
      // A provisioner that fails takes it back, so that another node may be tried.
      const { annotations } = claim.metadata
      if (annotations === undefined)
        throw new Error(`selectedNode annotation reset for PVC "${metadata.name}"`)
      if (annotations[selectedNode] !== node.metadata.name)
        throw new Error(`provisioning failed for PVC "${metadata.name}"`)
      if (volumeName) mustSuit(volumes.get(volumeName), node)
    } else {
      const { name } = promised.metadata
      const volume = volumes.get(name)
      if (volume === undefined) throw missing('persistentvolumes', name)
      mustSuit(volume, node)
      if (!volume.spec.claimRef?.uid) throw new Error(`ClaimRef got reset for pv "${name}"`)
    }
    if (!volumeName || claim.metadata.annotations?.[bindCompleted] === undefined) return false
    if (promised === undefined && volumes.get(volumeName) === undefined) return false
  }
  return true
}
