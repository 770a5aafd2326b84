/** What becomes of volumes and claims that were left or lost. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Volume } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { deleterOf, hostPathProvisioner } from '#controllers/persistentvolume/volume.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'

t.test('a claim that a Pod has for itself is made again when it is deleted', async (t) => {
  const controllers = ['ephemeral-volume-controller', 'serviceaccount-controller']
  const client = await startControllers(t, controllers)
  const namespace = 'default'
  const account = { namespace, name: 'default' }
  await until(() => client.get(resources.serviceAccounts, account).catch(() => undefined))
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: claim } } }],
    },
  })
  const name = { namespace, name: 'p-scratch' }
  const uid = async () =>
    (await client.get<KubeObject>(resources.persistentVolumeClaims, name).catch(() => undefined))
      ?.metadata.uid
  await until(uid)
  const before = await uid()
  const unprotected = { metadata: { finalizers: null } }
  await client.patch(resources.persistentVolumeClaims, name, unprotected, { type: 'merge' })
  await client.delete(resources.persistentVolumeClaims, name)
  await until(async () => ![undefined, before].includes(await uid()))
})

t.test('a volume is deleted by who made it, never by another', (t) => {
  const of = (spec: object, provisioner?: string) =>
    deleterOf({
      metadata: {
        name: 'v',
        annotations: provisioner ? { 'pv.kubernetes.io/provisioned-by': provisioner } : {},
      },
      spec,
    } as unknown as Volume)
  const hostPath = (path: string) => ({ hostPath: { path } })
  t.equal(of(hostPath('/anywhere'), hostPathProvisioner), 'binder')
  t.equal(of({ csi: { driver: 'd.io' } }), 'driver')
  t.equal(of(hostPath('/tmp/x'), 'somebody.io/else'), 'driver')
  t.equal(of(hostPath('/tmp/x')), 'binder')
  t.same(of(hostPath('/var/x')), {
    problem: 'host_path deleter only supports /tmp/.+ but received provided /var/x',
  })
  t.match(of({ local: { path: '/mnt' } }), { problem: /no volume plugin matched$/ })
  t.end()
})

t.test(
  'a class of attributes stays as long as a claim or a volume has it, or is on its way from it',
  async (t) => {
    const client = await startControllers(t, [
      'volumeattributesclass-protection-controller',
      'persistentvolumeclaim-protection-controller',
      'persistentvolume-protection-controller',
    ])
    const namespace = 'default'
    const size = '1Gi'
    const accessModes = ['ReadWriteOnce']
    const driverName = 'd.example.com'
    for (const name of ['claimed', 'former', 'held', 'free'])
      await client.create(resources.volumeAttributesClasses, {
        metadata: { name },
        driverName,
        parameters: { iops: '1' },
      })
    const claim = { name: 'c', namespace }
    await client.create(resources.persistentVolumeClaims, {
      metadata: claim,
      spec: {
        accessModes,
        resources: { requests: { storage: size } },
        volumeAttributesClassName: 'claimed',
      },
    })
    const leaving = { status: { currentVolumeAttributesClassName: 'former' } }
    await client.patch(resources.persistentVolumeClaims, claim, leaving, {
      type: 'merge',
      subresource: 'status',
    })
    const volume = { name: 'v' }
    await client.create(resources.persistentVolumes, {
      metadata: volume,
      spec: {
        accessModes,
        capacity: { storage: size },
        csi: { driver: driverName, volumeHandle: 'v' },
        volumeAttributesClassName: 'held',
      },
    })
    const left = async () => {
      const { items } = await client.list(resources.volumeAttributesClasses)
      return items.map(({ metadata }) => metadata.name).join()
    }
    for (const name of ['claimed', 'former', 'held', 'free'])
      await client.delete(resources.volumeAttributesClasses, { name })
    await until(async () => (await left()) === 'claimed,former,held')
    const arrived = { status: { currentVolumeAttributesClassName: 'claimed' } }
    await client.patch(resources.persistentVolumeClaims, claim, arrived, {
      type: 'merge',
      subresource: 'status',
    })
    await until(async () => (await left()) === 'claimed,held')
    await client.delete(resources.persistentVolumeClaims, claim)
    await until(async () => (await left()) === 'held')
    await client.delete(resources.persistentVolumes, volume)
    await until(async () => (await left()) === '')
    t.equal(await left(), '')
  },
)
