/**
 * The objects that are related to each node through its Pods, kept up to date from Pods, volumes, attachments and slices
 * (kubernetes, plugin/pkg/auth/authorizer/node/graph.go). Upstream walks a graph; here each object has the nodes of the
 * Pods that refer to it, so that a check costs the same however many Pods there are.
 */
import { isMirrorPod } from '#api/mirror-pods.js'
import type { Fields, NamespacedObject, PersistedObject } from '#api/object.js'
import { configMapNames, secretNames, volumeClaimName } from '#api/pod-references.js'

/** An object that Pods refer to. */
interface Used {
  readonly key: string
  /** The number of Pods that refer to it, by node. */
  readonly nodes: Map<string, number>
}

interface PodEdges {
  readonly uid: string
  readonly node: string
  /** Number of ephemeral containers: nothing else that refers to objects can change while the Pod lives. */
  readonly ephemeral: number
  readonly used: readonly Used[]
}

interface VolumeEdges {
  readonly claim: string
  readonly secrets: readonly string[]
}

/** Plural names of resources that can be related to a node. */
export type Related =
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'pods'
  | 'resourceclaims'
  | 'resourceslices'
  | 'secrets'
  | 'serviceaccounts'
  | 'volumeattachments'

const keyOf = (resource: Related, namespace: string, name: string): string =>
  `${resource}/${namespace}/${name}`

/** Leaves out claims that have not been made from their template yet. */
const resourceClaimNames = ({ spec, status = {} }: Fields): (string | undefined)[] => [
  ...(spec.resourceClaims ?? []).map(
    ({ name, resourceClaimName }: Fields) =>
      resourceClaimName ??
      status.resourceClaimStatuses?.find((one: Fields) => one.name === name)?.resourceClaimName,
  ),
  status.extendedResourceClaimStatus?.resourceClaimName,
]

/** Whether its status may name claims that were made for it. */
const claimsDevices = ({ spec, status = {} }: Fields): boolean =>
  spec.resourceClaims !== undefined || status.extendedResourceClaimStatus !== undefined

/** References of mirror Pods do not count: nodes create these themselves, and must gain nothing by it. */
const keysOf = (pod: NamespacedObject): string[] => {
  if (isMirrorPod(pod)) return []
  const { metadata, spec } = pod
  const claims = (spec.volumes ?? []).map((volume: Fields) =>
    volumeClaimName(metadata.name, volume),
  )
  const names: readonly [Related, readonly (string | undefined)[]][] = [
    ['serviceaccounts', [spec.serviceAccountName]],
    ['secrets', secretNames(spec)],
    ['configmaps', configMapNames(spec)],
    ['persistentvolumeclaims', claims],
    ['resourceclaims', resourceClaimNames(pod)],
  ]
  const keys = names.flatMap(([resource, found]) =>
    found.flatMap((name) => (name ? [keyOf(resource, metadata.namespace, name)] : [])),
  )
  return [...new Set(keys)]
}

const nodeSecrets = ['nodePublishSecretRef', 'nodeStageSecretRef', 'nodeExpandSecretRef']
/** Volume types whose secret is in the claim's namespace if it names none. */
const secretBesideClaim = ['cephfs', 'flexVolume', 'rbd', 'scaleIO', 'iscsi']
const secretInNamespace = ['cinder', 'storageos']

/** Those that a kubelet needs (kubernetes, pkg/api/v1/persistentvolume: VisitPVSecretNames). */
const volumeSecretKeys = ({ claimRef, azureFile, csi, ...sources }: Fields): string[] => {
  const refs: Fields[] = [
    ...(azureFile === undefined
      ? []
      : [
          {
            name: azureFile.secretName,
            namespace: azureFile.secretNamespace || claimRef.namespace,
          },
        ]),
    ...secretBesideClaim.map((source) => ({
      name: sources[source]?.secretRef?.name,
      namespace: sources[source]?.secretRef?.namespace || claimRef.namespace,
    })),
    ...secretInNamespace.map((source) => sources[source]?.secretRef ?? {}),
    ...nodeSecrets.map((ref) => csi?.[ref] ?? {}),
  ]
  return refs.flatMap(({ namespace = '', name }) =>
    name ? [keyOf('secrets', namespace, name)] : [],
  )
}

export class NodeGraph {
  /** These maps are by key of the object. */
  readonly #pods = new Map<string, PodEdges>()
  readonly #used = new Map<string, Used>()
  readonly #volumes = new Map<string, VolumeEdges>()
  readonly #volumesOfSecret = new Map<string, Set<string>>()
  /** The node of each attachment and slice. */
  readonly #nodes = new Map<string, string>()

  /** Number of known objects, including those that others refer to. */
  get size(): number {
    const known = [this.#pods, this.#used, this.#volumes, this.#volumesOfSecret, this.#nodes]
    return known.reduce((sum, { size }) => sum + size, 0)
  }

  isRelated(node: string, resource: Related, namespace: string, name: string): boolean {
    const key = keyOf(resource, namespace, name)
    switch (resource) {
      case 'pods':
        return this.#pods.get(key)?.node === node
      case 'persistentvolumes':
        return this.#isOfVolume(node, key)
      case 'resourceslices':
      case 'volumeattachments':
        return this.#nodes.get(key) === node
      case 'secrets':
        return this.#isUsed(node, key) || this.#isSecretOfVolume(node, key)
      default:
        return this.#isUsed(node, key)
    }
  }

  setPod(pod: NamespacedObject): void {
    const { metadata, spec } = pod
    const node: string = spec.nodeName ?? ''
    if (node === '') return
    const key = keyOf('pods', metadata.namespace, metadata.name)
    const { uid } = metadata
    const ephemeral: number = spec.ephemeralContainers?.length ?? 0
    const known = this.#pods.get(key)
    // Most changes are of a status and do not matter here.
    const isKnown =
      known !== undefined &&
      known.uid === uid &&
      known.node === node &&
      known.ephemeral === ephemeral
    if (isKnown && !claimsDevices(pod)) return
    this.#removePod(key)
    const used = keysOf(pod).map((one) => this.#use(one, node))
    this.#pods.set(key, { uid, node, ephemeral, used })
  }

  deletePod({ metadata }: NamespacedObject): void {
    this.#removePod(keyOf('pods', metadata.namespace, metadata.name))
  }

  replacePods(pods: readonly NamespacedObject[]): void {
    this.#pods.clear()
    this.#used.clear()
    for (const pod of pods) this.setPod(pod)
  }

  setVolume({ metadata, spec }: PersistedObject): void {
    const key = keyOf('persistentvolumes', '', metadata.name)
    this.#removeVolume(key)
    const { claimRef } = spec
    if (claimRef === undefined) return
    const secrets = volumeSecretKeys(spec)
    const claim = keyOf('persistentvolumeclaims', claimRef.namespace ?? '', claimRef.name ?? '')
    this.#volumes.set(key, { claim, secrets })
    for (const secret of secrets) {
      const volumes = this.#volumesOfSecret.get(secret)
      if (volumes === undefined) this.#volumesOfSecret.set(secret, new Set([key]))
      else volumes.add(key)
    }
  }

  deleteVolume({ metadata }: PersistedObject): void {
    this.#removeVolume(keyOf('persistentvolumes', '', metadata.name))
  }

  replaceVolumes(volumes: readonly PersistedObject[]): void {
    this.#volumes.clear()
    this.#volumesOfSecret.clear()
    for (const volume of volumes) this.setVolume(volume)
  }

  setNode(resource: Related, { metadata, spec }: PersistedObject): void {
    const key = keyOf(resource, '', metadata.name)
    if (spec.nodeName) this.#nodes.set(key, spec.nodeName)
    else this.#nodes.delete(key)
  }

  deleteNode(resource: Related, { metadata }: PersistedObject): void {
    this.#nodes.delete(keyOf(resource, '', metadata.name))
  }

  replaceNodes(resource: Related, objects: readonly PersistedObject[]): void {
    for (const key of this.#nodes.keys())
      if (key.startsWith(`${resource}/`)) this.#nodes.delete(key)
    for (const object of objects) this.setNode(resource, object)
  }

  #isUsed(node: string, key: string): boolean {
    return this.#used.get(key)?.nodes.has(node) ?? false
  }

  #isOfVolume(node: string, key: string): boolean {
    const volume = this.#volumes.get(key)
    return volume !== undefined && this.#isUsed(node, volume.claim)
  }

  #isSecretOfVolume(node: string, key: string): boolean {
    for (const volume of this.#volumesOfSecret.get(key) ?? [])
      if (this.#isOfVolume(node, volume)) return true
    return false
  }

  #use(key: string, node: string): Used {
    let used = this.#used.get(key)
    if (used === undefined) {
      used = { key, nodes: new Map() }
      this.#used.set(key, used)
    }
    used.nodes.set(node, (used.nodes.get(node) ?? 0) + 1)
    return used
  }

  #removePod(key: string): void {
    const pod = this.#pods.get(key)
    if (pod === undefined) return
    this.#pods.delete(key)
    for (const { key, nodes } of pod.used) {
      const left = nodes.get(pod.node)! - 1
      if (left > 0) nodes.set(pod.node, left)
      else nodes.delete(pod.node)
      if (nodes.size === 0) this.#used.delete(key)
    }
  }

  #removeVolume(key: string): void {
    const volume = this.#volumes.get(key)
    if (volume === undefined) return
    this.#volumes.delete(key)
    for (const secret of volume.secrets) {
      const volumes = this.#volumesOfSecret.get(secret)
      volumes?.delete(key)
      if (volumes?.size === 0) this.#volumesOfSecret.delete(secret)
    }
  }
}
