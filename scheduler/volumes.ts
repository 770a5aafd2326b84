/** What a Pod's claims mean for where it can go. */
import type { KubeObject } from '#api/object.js'
import type { ObjectStore } from '#client/object-store.js'
import type { NodeSelectorTerm, Pod } from '#client/pod.js'

export interface VolumeStores {
  claims: ObjectStore<KubeObject>
  volumes: ObjectStore<KubeObject>
  classes: ObjectStore<KubeObject>
}
export interface ClaimFindings {
  /** Why the Pod can go nowhere yet, in upstream's words. */
  problem?: string
  /** Claims that are bound only when it is known which node the Pod goes to. */
  waiting: KubeObject[]
  /** Where the volumes that it has can be reached. */
  selectors: { nodeSelectorTerms: NodeSelectorTerm[] }[]
}

export const selectedNodeAnnotation = 'volume.kubernetes.io/selected-node'

const claimName = (pod: Pod, volume: NonNullable<Pod['spec']['volumes']>[number]) =>
  volume.persistentVolumeClaim?.claimName ??
  (volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined)

export const inspectClaims = (pod: Pod, stores: VolumeStores): ClaimFindings => {
  const found: ClaimFindings = { waiting: [], selectors: [] }
  for (const volume of pod.spec.volumes ?? []) {
    const name = claimName(pod, volume)
    if (name === undefined) continue
    const claim = stores.claims.get(`${pod.metadata.namespace}/${name}`)
    if (claim === undefined)
      return { ...found, problem: `persistentvolumeclaim "${name}" not found` }
    if (claim.metadata.deletionTimestamp !== undefined)
      return { ...found, problem: `persistentvolumeclaim "${name}" is being deleted` }
    if (claim.status?.phase === 'Lost')
      return {
        ...found,
        problem: `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName}"`,
      }
    if (claim.status?.phase === 'Bound') {
      const required = stores.volumes.get(claim.spec.volumeName)?.spec?.nodeAffinity?.required
      if (required !== undefined) found.selectors.push(required)
      continue
    }
    const storageClass = stores.classes.get(claim.spec?.storageClassName ?? '')
    if (storageClass?.volumeBindingMode !== 'WaitForFirstConsumer')
      return { ...found, problem: 'pod has unbound immediate PersistentVolumeClaims' }
    found.waiting.push(claim)
  }
  return found
}
