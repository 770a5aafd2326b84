/** Keeps the graph of the Node authorizer up to date with the objects (upstream: graph_populator.go). */
import type { NamespacedObject } from '#api/object.js'
import type { NodeGraph, Related } from '#authz/node-graph.js'
import { type FollowDeps, type Follower, followObjects } from '#registry/follow-objects.js'

/** For objects that name their node themselves. */
const nodesOf = (graph: NodeGraph, resource: Related): Follower => ({
  replace: (all) => graph.replaceNodes(resource, all),
  changed: (type, object) =>
    type === 'DELETED' ? graph.deleteNode(resource, object) : graph.setNode(resource, object),
})

/** Everything is known when this resolves. */
export const followNodeGraph = async (
  graph: NodeGraph,
  deps: Omit<FollowDeps, 'signal'>,
): Promise<{ stop(): Promise<void> }> => {
  const stopping = new AbortController()
  const follow = (group: string, resource: Related, follower: Follower) =>
    followObjects({ ...deps, signal: stopping.signal }, { group, resource }, follower)
  const followed = await Promise.all([
    follow('', 'pods', {
      replace: (all) => graph.replacePods(all as readonly NamespacedObject[]),
      changed: (type, object) => {
        const pod = object as NamespacedObject
        return type === 'DELETED' ? graph.deletePod(pod) : graph.setPod(pod)
      },
    }),
    follow('', 'persistentvolumes', {
      replace: (all) => graph.replaceVolumes(all),
      changed: (type, object) =>
        type === 'DELETED' ? graph.deleteVolume(object) : graph.setVolume(object),
    }),
    follow('storage.k8s.io', 'volumeattachments', nodesOf(graph, 'volumeattachments')),
    follow('resource.k8s.io', 'resourceslices', nodesOf(graph, 'resourceslices')),
  ])
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(followed.map(({ done }) => done))
    },
  }
}
