/** What volumes and images say about nodes, in kube-scheduler's words. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { ObjectStore } from '#client/object-store.js'
import type { Claim, StorageClass, Volume } from '#client/persistent-volume.js'
import type { Node, Pod } from '#client/pod.js'
import { imageLocality } from '#scheduler/image-locality.js'
import { NodeInfo } from '#scheduler/node-info.js'
import { type CsiNode, volumeLimits } from '#scheduler/volume-limits.js'
import { inspectClaims, volumeProblem } from '#scheduler/volumes.js'

const object = <T extends KubeObject>(
  name: string,
  fields: object,
  labels: Record<string, string> = {},
) => ({ kind: '', apiVersion: '', metadata: { name, namespace: 'ns', labels }, ...fields }) as T
const info = (name: string, labels = {}, images: object[] = [], pods: Pod[] = []): NodeInfo => {
  const result = new NodeInfo()
  result.setNode({
    ...object(name, { spec: {}, status: { images } }),
    metadata: { name, labels },
  } as Node)
  for (const pod of pods) result.addPod(pod)
  return result
}
const podWith = (name: string, claims: string[], images: string[] = ['i']): Pod =>
  object(name, {
    spec: {
      containers: images.map((image) => ({ name: image, image })),
      volumes: claims.map((claimName) => ({
        name: claimName,
        persistentVolumeClaim: { claimName },
      })),
    },
    status: {},
  }) as Pod
/** A cluster in which claim `a` is bound to volume `pv-a`. */
const storesWith = (
  volumes: Record<string, { spec?: object; labels?: Record<string, string> }>,
) => {
  const stores = {
    claims: new ObjectStore<Claim>(),
    volumes: new ObjectStore<Volume>(),
    classes: new ObjectStore<StorageClass>(),
  }
  for (const [name, { spec = {}, labels = {} }] of Object.entries(volumes)) {
    stores.volumes.set(`pv-${name}`, object(`pv-${name}`, { spec }, labels))
    const bound = { spec: { volumeName: `pv-${name}` }, status: { phase: 'Bound' } }
    stores.claims.set(`ns/${name}`, object(name, bound))
  }
  return stores
}

t.test('a volume of another zone rules a node out, one of several zones does not', (t) => {
  const zone = 'topology.kubernetes.io/zone'
  const old = 'failure-domain.beta.kubernetes.io/zone'
  const reason = (volume: Record<string, string>, labels: Record<string, string>) => {
    const findings = inspectClaims(podWith('p', ['a']), storesWith({ a: { labels: volume } }))
    const { node } = info('n', labels)
    const usesClaim = () => false
    return volumeProblem(findings, { volumes: [], node: node!, usesClaim, hasTooMany: false })
  }
  const refused = { reason: 'node(s) had no available volume zone', hopeless: true }
  t.same(reason({ [zone]: 'a' }, { [zone]: 'b' }), refused)
  t.equal(reason({ [zone]: 'a__b' }, { [zone]: 'b' }), undefined)
  t.equal(reason({ [old]: 'b' }, { [zone]: 'b' }), undefined, 'the old label is the new one')
  t.same(reason({ [zone]: 'a' }, { 'topology.kubernetes.io/region': 'r' }), refused)
  t.equal(reason({ [zone]: 'a' }, {}), undefined, 'a node without zones is anywhere')
  t.end()
})

t.test('a node takes no more volumes of a driver than it says', (t) => {
  const csi = (volumeHandle: string) => ({ spec: { csi: { driver: 'd.io', volumeHandle } } })
  const stores = storesWith({ a: csi('1'), b: csi('2'), c: csi('3'), same: csi('1') })
  const drivers = [{ name: 'd.io', allocatable: { count: 2 } }]
  const csiNode = (name: string) =>
    name === 'n' ? (object(name, { spec: { drivers } }) as CsiNode) : undefined
  const isTooMany = (claims: string[], node: NodeInfo) =>
    volumeLimits(podWith('p', claims), stores, csiNode)?.(node)
  const busy = info('n', {}, [], [podWith('q', ['a'])])
  t.equal(isTooMany(['b'], busy), false)
  t.equal(isTooMany(['b', 'c'], busy), true)
  t.equal(isTooMany(['b', 'same'], busy), false, 'what is attached already is no more')
  t.equal(isTooMany(['a', 'b', 'c'], info('other')), false, 'a node that names no limit')
  t.equal(isTooMany([], busy), undefined)
  t.end()
})

t.test('nodes that have the images are better, the rarer the image the less', (t) => {
  const megabytes = (count: number) => count * 1024 * 1024
  const image = (name: string, size: number) => ({ names: [name], sizeBytes: megabytes(size) })
  const nodes = [
    info('a', {}, [image('big:latest', 1000)]),
    info('b', {}, [image('big:latest', 1000), image('r.io:5000/x:1', 500)]),
    info('c'),
    info('d'),
  ]
  const scores = (...images: string[]) => imageLocality(podWith('p', [], images), nodes, nodes)
  t.same(scores('big'), [48, 48, 0, 0])
  t.same(scores('big', 'r.io:5000/x:1'), [24, 30, 0, 0])
  t.same(scores('r.io:5000/x'), [0, 0, 0, 0], 'another tag')
  t.equal(imageLocality(podWith('p', []), [], [info('e')]), undefined)
  t.end()
})
