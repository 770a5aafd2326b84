/** What makes a Pod of a manifest; upstream: pkg/kubelet/config/common.go, pkg/kubelet/types/pod_update.go. */
import { createHash } from 'node:crypto'
import { mirrorAnnotation } from '#api/mirror-pods.js'
import type { ObjectMeta } from '#api/object.js'
import { canonicalJson } from '#json/object.js'
import { ownAnnotations, type Pod, type PodSpec } from '../pod.js'

const hashAnnotation = 'kubernetes.io/config.hash'

export const isMirrorOf = (mirror: Pod, pod: Pod): boolean =>
  mirror.metadata.deletionTimestamp === undefined &&
  mirror.metadata.annotations?.[mirrorAnnotation] === pod.metadata.annotations?.[hashAnnotation]

/** The mirror that the API is shown. */
export const mirrorOf = (
  { metadata, spec }: Pod,
  node: { name: string; uid: string },
): { metadata: ObjectMeta; spec: PodSpec } => {
  const { name, namespace, labels } = metadata
  const hash = metadata.annotations![hashAnnotation]!
  const owner = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true }
  return {
    metadata: {
      name,
      namespace,
      ...(labels ? { labels } : {}),
      annotations: { ...metadata.annotations, [mirrorAnnotation]: hash },
      ownerReferences: [owner],
    },
    spec,
  }
}

/**
 * Gives the Pod its identity, which is that of its text on this node, and binds it here, whatever the node's taints.
 */
export const makeStatic = (pod: Pod, at: { nodeName: string; file: string; now: string }): void => {
  const { metadata, spec } = pod
  const { nodeName, file, now } = at
  const text = `${canonicalJson(pod)}host:${nodeName}file:${file}`
  metadata.uid ||= createHash('sha256').update(text).digest('hex').slice(0, 32)
  metadata.name = `${metadata.name}-${nodeName}`
  metadata.namespace ||= 'default'
  spec.nodeName = nodeName
  metadata.annotations = {
    ...metadata.annotations,
    [hashAnnotation]: metadata.uid,
    [ownAnnotations.seen]: now,
    [ownAnnotations.source]: 'file',
  }
  const tolerates = (spec.tolerations ?? []).some(
    ({ key, operator, effect }) => !key && operator === 'Exists' && effect === 'NoExecute',
  )
  const toleration = { operator: 'Exists', effect: 'NoExecute' } as const
  if (!tolerates) spec.tolerations = [...(spec.tolerations ?? []), toleration]
}
