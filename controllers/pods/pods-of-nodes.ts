/** The Pods of each node, by an index that the controllers share. */
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'

const index = 'node'

/** Called at the start of a controller; the result answers at any time. */
export const podsOfNodes = ({
  informers,
}: ControllerContext): ((nodeName: string) => readonly Pod[]) => {
  const { store } = informers.for<Pod>(resources.pods)
  store.addIndex(index, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []))
  return (nodeName) => store.byIndex(index, nodeName)
}
