/** What volumes and images say about nodes, in kube-scheduler's words. */

import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import type { CsiDriver, CsiNode, VolumeAttachment } from '#client/csi-objects.js'
import { ObjectStore } from '#client/object-store.js'
import { boundTo, type Claim, type StorageClass, type Volume } from '#client/persistent-volume.js'
import type { Pod } from '#client/pod.js'
import { imageLocality } from '#scheduler/image-locality.js'
import { NodeInfo } from '#scheduler/node-info.js'
import { type CsiStorageCapacity, hasCapacity } from '#scheduler/storage-capacity.js'
import { type ClaimFindings, inspectClaims } from '#scheduler/volume-claims.js'
import { volumeFilter } from '#scheduler/volume-filter.js'
import { volumeLimits } from '#scheduler/volume-limits.js'
import { volumesOnNode } from '#scheduler/waiting-claims.js'
import { storedMetadata } from '../stored-metadata.js'

const object = <T extends PersistedObject>(
  name: string,
  fields: object,
  labels: Record<string, string> = {},
) =>
  ({
    kind: '',
    apiVersion: '',
    metadata: storedMetadata({ name, namespace: 'ns', labels }),
    ...fields,
  }) as T
const info = (name: string, labels = {}, images: object[] = [], pods: Pod[] = []): NodeInfo => {
  const result = new NodeInfo()
  result.setNode({
    ...object(name, { spec: {}, status: { images } }),
    metadata: storedMetadata({ name, labels }),
  })
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
    const bound = object<Claim>(name, { spec: { volumeName: `pv-${name}` }, status: {} })
    bound.metadata.annotations = { 'pv.kubernetes.io/bind-completed': 'yes' }
    stores.claims.set(`ns/${name}`, bound)
  }
  return stores
}

const bindingProblem = () => undefined
const refusalOf = (pod: Pod, findings: ClaimFindings, ...nodes: [NodeInfo, ...NodeInfo[]]) =>
  volumeFilter(pod, { findings, bindingProblem }, nodes)?.refuse(nodes[0])

t.test('a volume of another zone rules a node out, one of several zones does not', (t) => {
  const zone = 'topology.kubernetes.io/zone'
  const old = 'failure-domain.beta.kubernetes.io/zone'
  const reason = (volume: Record<string, string>, labels: Record<string, string>) => {
    const findings = inspectClaims(podWith('p', ['a']), storesWith({ a: { labels: volume } }))
    return refusalOf(podWith('p', ['a']), findings, info('n', labels))
  }
  const refused = { reasons: ['node(s) had no available volume zone'], hopeless: true }
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
  const attached = [
    ['pv-c', 'n'],
    ['pv-a', 'n'],
    ['pv-b', 'other'],
  ].map(([persistentVolumeName, nodeName]) =>
    object<VolumeAttachment>('va', {
      spec: { attacher: 'd.io', nodeName, source: { persistentVolumeName } },
    }),
  )
  let attachments: VolumeAttachment[] = []
  const attachmentsTo = (to: string) => attachments.filter(({ spec }) => spec.nodeName === to)
  const isTooMany = (claims: string[], node: NodeInfo) =>
    volumeLimits(podWith('p', claims), stores, { csiNode, attachmentsTo })?.(node)
  const busy = info('n', {}, [], [podWith('q', ['a'])])
  t.equal(isTooMany(['b'], busy), false)
  t.equal(isTooMany(['b', 'c'], busy), true)
  t.equal(isTooMany(['b', 'same'], busy), false, 'what is attached already is no more')
  t.equal(isTooMany(['a', 'b', 'c'], info('other')), false, 'a node that names no limit')
  t.equal(isTooMany([], busy), undefined)
  attachments = attached
  t.equal(isTooMany(['b'], busy), true, 'what is still attached though no Pod has it counts')
  t.equal(isTooMany(['a'], busy), false, 'once, if a Pod has it')
  t.end()
})

t.test('problems of claims are reported as the plugins find them, one after the other', (t) => {
  const stores = storesWith({ a: {}, b: {} })
  const problem = (...claims: string[]) => inspectClaims(podWith('p', claims), stores).problem
  stores.claims.set(
    'ns/lost',
    object('lost', { spec: { volumeName: 'x' }, status: { phase: 'Lost' } }),
  )
  t.equal(problem('a', 'b'), undefined)
  t.match(problem('lost', 'a'), /"lost" bound to non-existent persistentvolume "x"/)
  t.equal(problem('lost', 'nowhere'), 'persistentvolumeclaim "nowhere" not found', 'before others')
  stores.volumes.delete('pv-b')
  t.equal(problem('a', 'b'), 'persistentvolume "pv-b" not found')
  const own = {
    ...podWith('p', []),
    spec: { containers: [], volumes: [{ name: 'v', ephemeral: {} }] },
  }
  const ownProblem = () => inspectClaims(own, stores).problem
  const wait = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'
  t.equal(ownProblem(), wait)
  stores.claims.set('ns/p-v', object('p-v', { spec: {}, status: {} }))
  const foreign = 'PVC ns/p-v was not created for pod ns/p (pod is not owner)'
  t.equal(ownProblem(), foreign)
  const ownedBy = (reference: { uid: string; controller?: boolean }) => {
    const claim = object<Claim>('p-v', { spec: {}, status: {} })
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', ...reference }]
    stores.claims.set('ns/p-v', { ...claim, metadata: { ...claim.metadata, ownerReferences } })
    return ownProblem()
  }
  const { uid } = own.metadata
  t.equal(ownedBy({ uid: 'of-another-p', controller: true }), foreign)
  t.equal(ownedBy({ uid }), foreign, 'it has to be its controller')
  t.notSame(ownedBy({ uid, controller: true }), foreign)
  t.end()
})

t.test('volumes for waiting claims come where the class allows and the driver has room', (t) => {
  const claim = (name: string, storage: string, annotations = {}) => {
    const result = object<Claim>(name, {
      spec: { storageClassName: 'c', resources: { requests: { storage } } },
    })
    return { ...result, metadata: { ...result.metadata, annotations } }
  }
  const at = (zone: string) => info(`n-${zone}`, { zone }).node!
  const allowedTopologies = [{ matchLabelExpressions: [{ key: 'zone', values: ['a', 'b'] }] }]
  const storageClass = object<StorageClass>('c', { provisioner: 'd.io', allowedTopologies })
  const driver = object<CsiDriver>('d.io', { spec: { storageCapacity: true } })
  const capacities = [
    object<CsiStorageCapacity>('cap', {
      storageClassName: 'c',
      nodeTopology: { matchLabels: { zone: 'a' } },
      capacity: '2Gi',
    }),
  ]
  const place = (zone: string, ...claims: Claim[]) => {
    const waiting = claims.map((c) => ({ claim: c, storageClass }))
    const found = volumesOnNode(waiting, at(zone), {
      volumes: [],
      hasCapacity: (c, _class, node) => hasCapacity(c, node, driver, capacities),
    })
    return typeof found === 'string' ? found : found.size
  }
  const unbound = "node(s) didn't find available persistent volumes to bind"
  t.equal(place('a', claim('x', '2Gi'), claim('y', '1Gi')), 2)
  t.equal(place('a', claim('x', '3Gi')), 'node(s) did not have enough free storage')
  t.equal(place('b', claim('x', '1Gi')), 'node(s) did not have enough free storage')
  t.equal(place('c', claim('x', '1Gi')), unbound, 'the class does not allow it')
  const chosen = { 'volume.kubernetes.io/selected-node': 'n-b' }
  t.equal(place('a', claim('x', '1Gi', chosen)), unbound, 'it was promised to another node')
  t.end()
})

t.test(
  'the smallest claim chooses first, and a promised volume elsewhere rules others out',
  (t) => {
    const claim = (name: string, storage: string) =>
      object<Claim>(name, { spec: { storageClassName: 'c', resources: { requests: { storage } } } })
    const storageClass = object<StorageClass>('c', { provisioner: 'kubernetes.io/no-provisioner' })
    const volume = (name: string, storage: string, spec = {}) =>
      object<Volume>(name, {
        spec: { storageClassName: 'c', capacity: { storage }, ...spec },
        status: { phase: 'Available' },
      })
    const place = (claims: Claim[], volumes: Volume[]) => {
      const waiting = claims.map((c) => ({ claim: c, storageClass }))
      const found = volumesOnNode(waiting, info('n', { zone: 'a' }).node!, {
        volumes,
        hasCapacity: () => true,
      })
      return typeof found === 'string' ? 'none' : [...found.values()].map((v) => v?.metadata.name)
    }
    const both = [claim('large', '2Gi'), claim('small', '1Gi')]
    t.same(place(both, [volume('v2', '2Gi'), volume('v3', '3Gi')]), ['v2', 'v3'])
    const released = { ...volume('old', '1Gi'), status: { phase: 'Released' } }
    t.equal(place([claim('small', '1Gi')], [released]), 'none')
    const zone = (values: string[]) => ({
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values }] }],
      },
    })
    const promised = { claimRef: { namespace: 'ns', name: 'small' }, nodeAffinity: zone(['b']) }
    t.equal(
      place([claim('small', '1Gi')], [volume('p', '1Gi', promised), volume('v', '1Gi')]),
      'none',
    )
    const foreign = volume('f', '1Gi', { ...promised, storageClassName: 'other' })
    t.same(place([claim('small', '1Gi')], [foreign, volume('v', '1Gi')]), ['v'])
    t.end()
  },
)

t.test(
  'a volume that was free is promised by us, one that its user kept for the claim is not',
  (t) => {
    const claim = object<Claim>('a', { spec: {} })
    const bound = (spec: object) => boundTo(object<Volume>('v', { spec }), claim)
    const kept = bound({ claimRef: { namespace: 'ns', name: 'a' } })
    for (const { spec } of [bound({}), kept]) t.equal(spec.claimRef?.uid, claim.metadata.uid)
    t.same(bound({}).metadata.annotations, { 'pv.kubernetes.io/bound-by-controller': 'yes' })
    t.equal(kept.metadata.annotations, undefined)
    t.end()
  },
)

t.test('disks of old kinds are mounted once on a node, unless both only read', (t) => {
  const withDisk = (name: string, disk: object) =>
    ({ ...podWith(name, []), spec: { containers: [], volumes: [{ name: 'd', ...disk }] } }) as Pod
  const gce = (readOnly?: boolean) => ({ gcePersistentDisk: { pdName: 'd', readOnly } })
  const rbd = (...monitors: string[]) => ({ rbd: { monitors, pool: 'rbd', image: 'i' } })
  const clash = (a: object, b: object): boolean => {
    const p = withDisk('p', a)
    const node = info('n', {}, [], [withDisk('q', b)])
    const refusal = refusalOf(p, { waiting: [], bound: [], exclusive: [] }, node)
    if (refusal !== undefined)
      t.same(refusal, { reasons: ['node(s) had no available disk'], hopeless: false })
    return refusal !== undefined
  }
  t.ok(clash(gce(), gce(true)))
  t.notOk(clash(gce(true), gce(true)))
  t.ok(clash(rbd('m1', 'm2'), rbd('m2')))
  t.notOk(clash(rbd('m1'), rbd('m2')), 'another cluster of disks')
  t.ok(
    clash({ awsElasticBlockStore: { volumeID: 'v' } }, { awsElasticBlockStore: { volumeID: 'v' } }),
  )
  t.notOk(clash({ iscsi: { iqn: 'a' } }, { iscsi: { iqn: 'b' } }))
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
  const mounted = podWith('p', [], ['none'])
  mounted.spec.volumes = [{ name: 'v', image: { reference: 'big' } }]
  t.same(imageLocality(mounted, nodes, nodes), [48, 48, 0, 0], 'images of volumes, too')
  t.equal(imageLocality(podWith('p', []), [], [info('e')]), undefined)
  t.end()
})
