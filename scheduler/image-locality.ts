/** Nodes that have a Pod's images already are better. Upstream: the plugin ImageLocality. */
import type { Pod } from '#client/pod.js'
import type { NodeInfo } from './node-info.js'

const megabyte = 1024 * 1024
/** Less is not worth moving for, more (for each container) makes no difference. */
const leastBytes = 23 * megabyte
const mostBytes = 1000 * megabyte

/** As images are listed in a Node's status: with their tag. */
const withTag = (image: string): string =>
  image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image

/** 0 to 100 for each candidate, or undefined when no node says what it has. */
export const imageLocality = (
  pod: Pod,
  candidates: readonly NodeInfo[],
  nodes: Iterable<NodeInfo>,
): number[] | undefined => {
  const all = [...nodes]
  if (all.every(({ images }) => images.size === 0)) return undefined
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
  const volumes = (pod.spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? [])
  const wanted = [...containers.map(({ image = '' }) => image), ...volumes].map(withTag)
  // An image that few have counts for less, so that Pods do not crowd where it is.
  const spread = new Map(
    wanted.map((image) => [
      image,
      all.filter(({ images }) => images.has(image)).length / all.length,
    ]),
  )
  const most = mostBytes * containers.length
  return candidates.map(({ images }) => {
    const bytes = wanted
      .map((image) => Math.trunc((images.get(image) ?? 0) * spread.get(image)!))
      .reduce((sum, size) => sum + size, 0)
    const counted = Math.min(most, Math.max(leastBytes, bytes))
    return Math.trunc((100 * (counted - leastBytes)) / (most - leastBytes))
  })
}
