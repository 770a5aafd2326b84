/** Volumes that are images: pulled for each container that mounts them, and mounted by the runtime. */
import type { ContainerSpec, Pod, VolumeMount } from '../pod.js'
import type { Mount } from '../runtime.js'
import { subPathOf } from '../volumes/sub-path.js'

export interface ImageVolume {
  readonly mount: VolumeMount
  readonly reference: string
  readonly pullPolicy: string | undefined
}

export const imageVolumesOf = (pod: Pod, { volumeMounts = [] }: ContainerSpec): ImageVolume[] =>
  volumeMounts.flatMap((mount) => {
    const image = pod.spec.volumes?.find(({ name }) => name === mount.name)?.image
    if (!image) return []
    return { mount, reference: image.reference ?? '', pullPolicy: image.pullPolicy }
  })

/** `id` is the image's. Throws StartError. */
export const imageMount = (
  { mount, reference, id }: ImageVolume & { readonly id: string },
  env: ReadonlyMap<string, string>,
): Mount => ({
  volume: mount.name,
  hostPath: '',
  image: { id, reference, subPath: subPathOf(mount, env) },
  containerPath: mount.mountPath,
  readOnly: true,
})
