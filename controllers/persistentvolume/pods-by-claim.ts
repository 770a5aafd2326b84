/** Which Pods have a claim among their volumes. */
import type { Informer } from '#client/informer.js'
import { claimNames } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'

/** The Pods, with the index `claim` by the claim's key. */
export const podsByClaim = ({ informers }: ControllerContext): Informer<Pod> => {
  const pods = informers.for<Pod>(resources.pods)
  pods.store.addIndex('claim', (pod) =>
    claimNames(pod).map((name) => `${pod.metadata.namespace}/${name}`),
  )
  return pods
}
