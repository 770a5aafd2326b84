/** The graph of the Node authorizer, kept as objects come and go, against one that looks at all of them each time. */
import fc from 'fast-check'
import t from 'tap'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { NodeGraph, type Related } from '#authz/node-graph.js'

const metadata = (name: string) => ({ name, namespace: 'ns', uid: name, resourceVersion: '1' })

interface PodParts {
  name: string
  node: string | undefined
  account: string
  secrets: string[]
  claims: string[]
  isMirror: boolean
}
const podOf = ({ name, node, account, secrets, claims, isMirror }: PodParts): NamespacedObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    ...metadata(name),
    // What a Pod names it names for as long as it lives.
    uid: JSON.stringify([node, account, secrets, claims, isMirror]),
    ...(isMirror ? { annotations: { 'kubernetes.io/config.mirror': 'x' } } : {}),
  },
  spec: {
    nodeName: node,
    serviceAccountName: account,
    volumes: [
      ...secrets.map((secretName) => ({ name: 's', secret: { secretName } })),
      ...claims.map((claimName) => ({ name: 'c', persistentVolumeClaim: { claimName } })),
    ],
  },
})

interface VolumeParts {
  name: string
  claim: string | undefined
  secrets: string[]
}
const volumeOf = ({ name, claim, secrets }: VolumeParts): PersistedObject => ({
  kind: 'PersistentVolume',
  apiVersion: 'v1',
  metadata: { ...metadata(name), namespace: undefined } as unknown as PersistedObject['metadata'],
  spec: {
    ...(claim === undefined ? {} : { claimRef: { namespace: 'ns', name: claim } }),
    csi: {
      driver: 'd',
      nodePublishSecretRef: { namespace: 'ns', name: secrets[0] },
      nodeStageSecretRef: { namespace: 'ns', name: secrets[1] },
      controllerPublishSecretRef: { namespace: 'ns', name: 'of-controllers' },
    },
  },
})

const names = {
  nodes: ['n1', 'n2', 'n3'],
  pods: ['p1', 'p2', 'p3', 'p4'],
  serviceaccounts: ['a1', 'a2'],
  secrets: ['s1', 's2', 's3', 'of-controllers'],
  persistentvolumeclaims: ['c1', 'c2'],
  persistentvolumes: ['v1', 'v2', 'v3'],
} as const
const some = <T>(list: readonly T[]) => fc.constantFrom(...list)
const few = <T>(list: readonly T[]) => fc.subarray([...list], { maxLength: 2 })

const pods = fc.record({
  name: some(names.pods),
  // A Pod stays on its node; one that is seen elsewhere was made anew behind the back of the watch.
  node: fc.option(some(names.nodes), { nil: undefined, freq: 6 }),
  account: some(names.serviceaccounts),
  secrets: few(names.secrets),
  claims: few(names.persistentvolumeclaims),
  isMirror: fc.boolean(),
})
const volumes = fc.record({
  name: some(names.persistentvolumes),
  claim: fc.option(some(names.persistentvolumeclaims), { nil: undefined, freq: 4 }),
  secrets: few(names.secrets),
})

class Model {
  readonly pods = new Map<string, PodParts>()
  readonly volumes = new Map<string, VolumeParts>()

  #uses(node: string, holds: (pod: PodParts) => boolean): boolean {
    return [...this.pods.values()].some((pod) => pod.node === node && !pod.isMirror && holds(pod))
  }
  #mounts(node: string, { claim }: VolumeParts): boolean {
    return claim !== undefined && this.#uses(node, ({ claims }) => claims.includes(claim))
  }
  isRelated(node: string, resource: Related, name: string): boolean {
    const volumes = [...this.volumes.values()]
    switch (resource) {
      case 'pods':
        return this.pods.get(name)?.node === node
      case 'serviceaccounts':
        return this.#uses(node, ({ account }) => account === name)
      case 'persistentvolumeclaims':
        return this.#uses(node, ({ claims }) => claims.includes(name))
      case 'persistentvolumes':
        return volumes.some((one) => one.name === name && this.#mounts(node, one))
      default:
        return (
          this.#uses(node, ({ secrets }) => secrets.includes(name)) ||
          volumes.some((one) => one.secrets.includes(name) && this.#mounts(node, one))
        )
    }
  }
}

interface Step {
  readonly told: string
  run(graph: NodeGraph, model: Model): void
}
const step = <T>(
  told: string,
  parts: fc.Arbitrary<T>,
  run: (graph: NodeGraph, model: Model, part: T) => void,
): fc.Arbitrary<Step> =>
  parts.map((part) => ({
    told: `${told} ${JSON.stringify(part)}`,
    run: (graph, model) => run(graph, model, part),
  }))

const steps = fc.oneof(
  step('set', pods, (graph, model, pod) => {
    // What was bound does not become unbound.
    if (pod.node === undefined && model.pods.get(pod.name)?.node !== undefined) return
    graph.setPod(podOf(pod))
    model.pods.set(pod.name, pod)
  }),
  step('delete', pods, (graph, model, pod) => {
    graph.deletePod(podOf(pod))
    model.pods.delete(pod.name)
  }),
  step('set', volumes, (graph, model, volume) => {
    graph.setVolume(volumeOf(volume))
    model.volumes.set(volume.name, volume)
  }),
  step('delete', volumes, (graph, model, volume) => {
    graph.deleteVolume(volumeOf(volume))
    model.volumes.delete(volume.name)
  }),
  step(
    'read again',
    fc.uniqueArray(pods, { selector: ({ name }) => name }),
    (graph, model, all) => {
      graph.replacePods(all.map(podOf))
      model.pods.clear()
      for (const pod of all) model.pods.set(pod.name, pod)
    },
  ),
  step(
    'read again',
    fc.uniqueArray(volumes, { selector: ({ name }) => name }),
    (graph, model, all) => {
      graph.replaceVolumes(all.map(volumeOf))
      model.volumes.clear()
      for (const volume of all) model.volumes.set(volume.name, volume)
    },
  ),
)

t.test('a node is related to what its Pods have to do with, whatever came and went', async (t) => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40 }), (run) => {
      const graph = new NodeGraph()
      const model = new Model()
      for (const one of run) {
        one.run(graph, model)
        for (const node of names.nodes)
          for (const [resource, list] of Object.entries(names).slice(1) as [
            Related,
            readonly string[],
          ][])
            for (const name of list) {
              const namespace = resource === 'persistentvolumes' ? '' : 'ns'
              const wanted = model.isRelated(node, resource, name)
              if (graph.isRelated(node, resource, namespace, name) !== wanted)
                throw new Error(`${one.told}: ${node} ${resource} ${name} is not ${wanted}`)
            }
      }
      // And when all are gone nothing is kept of them.
      for (const pod of model.pods.values()) graph.deletePod(podOf(pod))
      for (const volume of model.volumes.values()) graph.deleteVolume(volumeOf(volume))
      if (graph.size !== 0) throw new Error(`${graph.size} are kept`)
    }),
    { numRuns: 300 },
  )
  t.pass()
})
