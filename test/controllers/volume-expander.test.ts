/** What is told of claims that are to grow, as by kube-controller-manager 1.36. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Claim } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

const namespace = 'default'

t.test('a claim that asks for more than it has is told which driver expands it', async (t) => {
  const client = await startControllers(t, ['persistentvolume-expander-controller'])
  const make = async (name: string, source: object, { capacity = '1Gi', uid = '' } = {}) => {
    const common = { storageClassName: '', accessModes: ['ReadWriteOnce'] }
    const volumeName = `pv-${name}`
    const claim = await client.create<Claim>(resources.persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: { ...common, volumeName, resources: { requests: { storage: '2Gi' } } },
    })
    const claimRef = { namespace, name, uid: uid || claim.metadata.uid }
    await client.create(resources.persistentVolumes, {
      metadata: { name: volumeName },
      spec: { ...common, capacity: { storage: '1Gi' }, claimRef, ...source },
    })
    const status = { phase: 'Bound', capacity: { storage: capacity } }
    const options = { type: 'merge' as const, subresource: 'status' }
    await client.patch(resources.persistentVolumeClaims, { name, namespace }, { status }, options)
  }
  const hostPath = { path: '/tmp/x' }
  await make('enough', { hostPath }, { capacity: '2Gi' })
  await make('foreign', { hostPath }, { uid: 'other' })
  await make('csi', { csi: { driver: 'x.y', volumeHandle: 'h' } })
  await make('path', { hostPath })
  await make('ebs', { awsElasticBlockStore: { volumeID: 'v' } })
  const told = async () =>
    (await client.list<KubeObject>(resources.events, { namespace })).items
      .map(({ type, regarding, reason, note }) => [
        (regarding as { name: string }).name,
        `${type} ${reason}: ${note}`,
      ])
      .sort(([a], [b]) => (a! < b! ? -1 : 1))
  await until(async () => (await told()).length >= 3)
  const waiting = 'Normal ExternalExpanding: waiting for an external controller to expand this PVC'
  const migrated =
    'Normal ExternalExpanding: CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc'
  const first = [
    ['csi', waiting],
    ['ebs', migrated],
    ['path', waiting],
  ]
  t.same(await told(), first)
  const resizer = async (name: string) =>
    (await client.get(resources.persistentVolumeClaims, { name, namespace })).metadata.annotations
  await until(() => resizer('ebs'))
  t.same(await resizer('ebs'), { 'volume.kubernetes.io/storage-resizer': 'ebs.csi.aws.com' })
  t.equal(await resizer('path'), undefined)
})
