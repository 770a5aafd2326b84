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
