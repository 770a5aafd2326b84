/** What a Node says that decides what is attached to it. */
import { conditionOf } from '#api/conditions.js'
import type { Node } from '#client/pod.js'

/** Nodes with this annotation leave attaching to the controller. */
const managedAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach'

export const isManaged = (node: Node | undefined): boolean =>
  node?.metadata.annotations?.[managedAnnotation] === 'true'

/** The last state of a deleted Node, without the out-of-service taint. */
export const asGone = (node: Node): Node => ({ ...node, spec: { ...node.spec, taints: [] } })

/** All of it, as a text that changes with it. */
export const volumeSignature = (node: Node): string =>
  JSON.stringify([
    node.status.volumesInUse,
    node.status.volumesAttached,
    node.spec.taints,
    isManaged(node),
    conditionOf(node, 'Ready')?.status,
  ])

interface AttachedVolume {
  name: string
  devicePath: string
}

/** The volumes of these names, those that are listed before first; undefined where they are all that is listed. */
export const listOf = (
  names: ReadonlySet<string>,
  before: readonly AttachedVolume[] = [],
): AttachedVolume[] | undefined => {
  const kept = before.filter(({ name }) => names.has(name))
  const known = new Set(kept.map(({ name }) => name))
  const added = [...names].filter((name) => !known.has(name))
  if (added.length === 0 && kept.length === before.length) return undefined
  return [...kept, ...added.map((name) => ({ name, devicePath: '' }))]
}
