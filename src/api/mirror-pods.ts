/** A mirror Pod shows a static Pod of a node; upstream: pkg/apis/core/annotation_key_constants.go. */
import type { ObjectMeta } from './object.js'

export const mirrorAnnotation = 'kubernetes.io/config.mirror'

export const isMirrorPod = ({ metadata }: { metadata: Pick<ObjectMeta, 'annotations'> }): boolean =>
  metadata.annotations?.[mirrorAnnotation] !== undefined
