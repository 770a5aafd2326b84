/** Volumes that are folders of the machine: made for a claim, and gone with it. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Client } from '#client/client.js'
import { type Claim, hostPathProvisioner, type Volume } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { ownFolder } from '#controllers/persistentvolume/volume.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'
import { toldEvents } from './told-events.js'

const namespace = 'default'
const controllers = [
  'persistentvolume-binder-controller',
  'persistentvolumeclaim-protection-controller',
  'persistentvolume-protection-controller',
]
const { persistentVolumeClaims, persistentVolumes, storageClasses } = resources

const ownRoot = (t: Test): string => {
  const root = mkdtempSync(path.join(tmpdir(), 'kubelevel-volumes-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  return root
}

const createClass = (client: Client, name: string, root: string) =>
  client.create(storageClasses, {
    metadata: { name },
    provisioner: hostPathProvisioner,
    parameters: { path: root },
  })

const createClaim = (client: Client, name: string, spec: object) =>
  client.create(persistentVolumeClaims, {
    metadata: { name, namespace, annotations: { 'volume.kubernetes.io/selected-node': 'n1' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
  })

const volumes = async (client: Client): Promise<Volume[]> =>
  (await client.list<Volume>(persistentVolumes)).items

t.test('a claim gets a folder, on the node of its Pod, and takes it along', async (t) => {
  const root = ownRoot(t)
  const client = await startControllers(t, controllers)
  await createClass(client, 'folders', root)
  await createClaim(client, 'c', { storageClassName: 'folders' })
  const phase = async () =>
    (await client.get<Claim>(persistentVolumeClaims, { namespace, name: 'c' })).status.phase
  await until(async () => (await phase()) === 'Bound')
  const [volume] = await volumes(client)
  const folder = volume!.spec.hostPath!.path
  t.equal(path.dirname(folder), path.join(root, namespace))
  t.equal(statSync(folder).mode & 0o777, 0o777, 'for containers of any user')
  t.equal(statSync(path.dirname(folder)).mode & 0o077, 0o011, 'whose name is not to be found out')
  const [term] = volume!.spec.nodeAffinity!.required!.nodeSelectorTerms
  t.match(term!.matchExpressions, [{ key: 'kubernetes.io/hostname', values: ['n1'] }])
  writeFileSync(path.join(folder, 'data'), 'x')
  await client.delete(persistentVolumeClaims, { namespace, name: 'c' })
  await until(async () => (await volumes(client)).length === 0)
  t.notOk(existsSync(folder))
})

t.test('what is wrong with a class is told', async (t) => {
  const client = await startControllers(t, controllers)
  await createClass(client, 'lost', 'somewhere')
  await createClass(client, 'folders', ownRoot(t))
  await createClaim(client, 'c', { storageClassName: 'lost' })
  await createClaim(client, 'block', { storageClassName: 'folders', volumeMode: 'Block' })
  const told = () => toldEvents(client, namespace)
  const events = [
    'c ProvisioningFailed: Failed to provision volume with StorageClass "lost": parameter path of the class is not absolute: somewhere',
    'block ProvisioningFailed: Failed to provision volume with StorageClass "folders": a folder is no block volume',
  ]
  for (const event of events) await until(async () => (await told()).includes(event))
  t.same(await volumes(client), [])
})

const released = (root: string, uid: string, reclaimPolicy: string) => {
  const name = `pvc-${uid}`
  return {
    metadata: { name, annotations: { 'pv.kubernetes.io/provisioned-by': hostPathProvisioner } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name: 'c', uid },
      hostPath: { path: path.join(root, namespace, name) },
      persistentVolumeReclaimPolicy: reclaimPolicy,
    },
  }
}

t.test('a volume that somebody wants to keep at the last moment keeps its data', async (t) => {
  const root = ownRoot(t)
  const kept = released(root, 'kept', 'Delete')
  const gone = released(root, 'gone', 'Delete')
  const retain = { spec: { persistentVolumeReclaimPolicy: 'Retain' } }
  let isKept = false
  const client = await startControllers(t, controllers, (client) => ({
    get: async (...args: Parameters<Client['get']>) => {
      const [ref, { name }] = args
      if (ref === persistentVolumes && name === 'pvc-kept' && !isKept) {
        isKept = true
        await client.patch(ref, { name }, retain, { type: 'merge' })
      }
      return client.get(...args)
    },
  }))
  for (const volume of [kept, gone]) {
    mkdirSync(volume.spec.hostPath.path, { recursive: true })
    await client.create(persistentVolumes, volume)
  }
  await until(async () => isKept && (await volumes(client)).length === 1)
  t.notOk(existsSync(gone.spec.hostPath.path))
  t.ok(existsSync(kept.spec.hostPath.path))
})

t.test('no other folder goes with a volume, whatever is written into it', (t) => {
  const of = (change: { name?: string; path?: string; provisioner?: string }) => {
    const { metadata, spec } = released('/root', 'u', 'Delete')
    return ownFolder({
      metadata: {
        name: change.name ?? metadata.name,
        annotations: {
          'pv.kubernetes.io/provisioned-by': change.provisioner ?? hostPathProvisioner,
        },
      },
      spec: { ...spec, hostPath: { path: change.path ?? spec.hostPath.path } },
    } as unknown as Volume)
  }
  t.equal(of({}), '/root/default/pvc-u')
  t.equal(of({ path: '/home/somebody' }), undefined)
  t.equal(of({ path: '/root/other/pvc-u' }), undefined)
  t.equal(of({ name: 'pvc-v' }), undefined)
  t.equal(of({ provisioner: 'somebody.io/else' }), undefined)
  t.end()
})
