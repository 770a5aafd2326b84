import type { VolumeAttachment } from '#client/csi-objects.js'
import { uniqueName } from '#client/csi-volume.js'
import type { Volume } from '#client/persistent-volume.js'
import type { Node, Pod } from '#client/pod.js'

/** A volume that Pods of a node want there. */
export interface Wanted {
  /** The VolumeAttachment's name. */
  name: string
  volume: Volume
  pods: Pod[]
}

/** Whether several nodes may have the volume, by its access modes; without any they may. */
export const isShared = ({ spec: { accessModes = [] } }: Volume): boolean =>
  accessModes.length === 0 ||
  accessModes.some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany')

/** Its driver has said so; nobody knows whether the node has the volume. */
export const hasFailed = ({ status }: VolumeAttachment): boolean =>
  !status?.attached && status?.attachError !== undefined

/**
 * Why a Pod cannot have a volume that another node has, with upstream's text, which names no Pods of other namespaces.
 */
export const takenBy = (pod: Pod, users: readonly Pod[]): string => {
  if (users.length === 0)
    return "Volume is already exclusively attached to one node and can't be attached to another"
  const near = users.filter(({ metadata }) => metadata.namespace === pod.metadata.namespace)
  const far = users.length - near.length
  if (near.length === 0) return `Volume is already used by ${far} pod(s) in different namespaces`
  const names = near.map(({ metadata }) => metadata.name).join(', ')
  const more = far > 0 ? ` and ${far} pod(s) in different namespaces` : ''
  return `Volume is already used by pod(s) ${names}${more}`
}

/** The node is marked as off: nothing there uses a volume any more, whatever its status says. */
export const isOutOfService = (node: Node): boolean =>
  (node.spec.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service')

/**
 * After this time a volume that the status of an unhealthy node lists as in use no longer counts as such; upstream's
 * maxWaitForUnmountDuration.
 */
export const unmountWaitMs = 360_000

/** When a volume that is said to be in use has to be looked at again that no Pod has wanted for so long. */
export const lookAgainMs = (unwantedForMs: number): number =>
  unwantedForMs < unmountWaitMs ? unmountWaitMs - unwantedForMs : unmountWaitMs

/**
 * Whether a volume that no Pod has wanted on the node for this long may be detached. A node that disappeared may still
 * use it, and so may one whose last status is unknown.
 */
export const mayDetach = (
  node: Node | undefined,
  volume: Volume,
  { unwantedForMs, isReady }: { unwantedForMs: number; isReady: boolean },
): boolean => {
  if (node !== undefined) {
    if (isOutOfService(node)) return true
    if (!(node.status.volumesInUse ?? []).includes(uniqueName(volume.spec.csi!))) return true
  }
  return !isReady && unwantedForMs >= unmountWaitMs
}
