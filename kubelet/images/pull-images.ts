/** Pulls what a container needs: the images that it mounts as volumes, then its own. */
import type { DataObject, ObjectReader } from '../object-reader.js'
import type { ContainerSpec, Pod } from '../pod.js'
import type { ContainerRuntime } from '../runtime.js'
import type { ImagePullDeps, ImagePulls } from './image-pulls.js'
import { type ImageVolume, imageVolumesOf } from './image-volumes.js'

interface PullDeps extends ImagePullDeps {
  readonly runtime: Pick<ContainerRuntime, 'hasImages' | 'findImage' | 'pullImage'>
  readonly reader: Pick<ObjectReader, 'secret'>
  readonly pulls: ImagePulls
}

/** The Pod is told of those that cannot be read: its images may be there, or for everybody (getPullSecretsForPod). */
const pullSecretsOf = async ({ reader, event }: PullDeps, pod: Pod): Promise<DataObject[]> => {
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => name || [])
  const read = (name: string) => reader.secret(pod.metadata.namespace, name).catch(() => undefined)
  const secrets = await Promise.all(names.map(read))
  const missing = names.filter((_, i) => secrets[i] === undefined).join(', ')
  if (missing !== '') {
    const message = `Unable to retrieve some image pull secrets (${missing}); attempting to pull the image may not succeed.`
    event('Warning', 'FailedToRetrieveImagePullSecret', message)
  }
  return secrets.filter((secret) => secret !== undefined)
}

/** Yields the id of the container's image, and the volumes with those of theirs. Throws StartError. */
export const pullImages = async (
  deps: PullDeps,
  {
    facts: { pod },
    spec,
    signals: { ending: signal },
  }: {
    facts: { pod: Pod }
    spec: ContainerSpec
    signals: { ending: AbortSignal }
  },
): Promise<{ imageId: string; volumes: (ImageVolume & { id: string })[] }> => {
  const { image = '', imagePullPolicy, name } = spec
  if (!deps.runtime.hasImages) {
    const message = `Container image "${image}" needs no pull: the runtime runs commands of this host`
    deps.event('Normal', 'Pulled', message, name)
    return { imageId: image, volumes: [] }
  }
  const secrets = await pullSecretsOf(deps, pod)
  const pull = (image: string, pullPolicy: string | undefined, containerName?: string) =>
    deps.pulls.ensure(deps, { image, pullPolicy, containerName, secrets, signal })
  const volumes: (ImageVolume & { id: string })[] = []
  for (const volume of imageVolumesOf(pod, spec))
    volumes.push({ ...volume, id: await pull(volume.reference, volume.pullPolicy) })
  return { imageId: await pull(image, imagePullPolicy, name), volumes }
}
