/** Which volume a claim gets, and what is said of those that it does not get. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { type Claim, findVolume, type Volume } from '#client/persistent-volume.js'
import { resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'
import { toldEvents } from './told-events.js'

const namespace = 'default'
const boundByController = 'pv.kubernetes.io/bound-by-controller'
const binder = ['persistentvolume-binder-controller']

interface VolumeOptions extends Partial<Volume['spec']> {
  annotations?: Record<string, string>
  size?: string
}

const makersOf = (client: Client) => ({
  volume: (name: string, { annotations = {}, size = '1Gi', ...spec }: VolumeOptions = {}) =>
    client.create<Volume>(resources.persistentVolumes, {
      metadata: { name, annotations },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: size },
        csi: { driver: 'a.b', volumeHandle: name },
        ...spec,
      },
    }),
  claim: (name: string, spec: object = {}) =>
    client.create<Claim>(resources.persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: '',
        ...spec,
      },
    }),
  volumeNow: (name: string) => client.get<Volume>(resources.persistentVolumes, { name }),
  claimNow: (name: string) =>
    client.get<Claim>(resources.persistentVolumeClaims, { namespace, name }),
})

t.test('a claim is told why it does not get the volume that it names', async (t) => {
  const client = await startControllers(t, binder)
  const { volume, claim, claimNow } = makersOf(client)
  const tellsOf = async (name: string, text: string) => {
    await until(async () => (await toldEvents(client, namespace)).includes(`${name} ${text}`))
    t.equal((await claimNow(name)).status.phase, 'Pending')
  }
  await volume('small', { size: '1Mi' })
  await volume('classy', { storageClassName: 'gold' })
  await volume('raw', { volumeMode: 'Block' })
  await volume('read', { accessModes: ['ReadOnlyMany'] })
  const mismatches = {
    small: 'requested PV is too small',
    classy: 'storageClassName does not match',
    raw: 'incompatible volumeMode',
    read: 'incompatible accessMode',
  }
  for (const [name, problem] of Object.entries(mismatches)) {
    await claim(name, { volumeName: name })
    await tellsOf(name, `VolumeMismatch: Cannot bind to requested volume "${name}": ${problem}`)
  }
  await volume('taken', { claimRef: { namespace, name: 'somebody' } })
  await claim('late', { volumeName: 'taken' })
  await tellsOf('late', 'FailedBinding: volume "taken" already bound to a different claim.')
})

t.test('a volume that names a claim has to be of its modes, too', async (t) => {
  const client = await startControllers(t, binder)
  const { volume, claim, claimNow, volumeNow } = makersOf(client)
  await claim('c', { accessModes: ['ReadWriteMany'] })
  await volume('meant', { claimRef: { namespace, name: 'c' } })
  await until(async () => (await volumeNow('meant')).status.phase === 'Available')
  await volume('many', { accessModes: ['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'] })
  await until(async () => (await claimNow('c')).status.phase === 'Bound')
  t.equal((await claimNow('c')).spec.volumeName, 'many')
  await volume('small', { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] })
  await volume('plain', { size: '2Gi' })
  const bothAreFree = async () =>
    (await volumeNow('small')).status.phase === 'Available' &&
    (await volumeNow('plain')).status.phase === 'Available'
  await until(bothAreFree)
  await claim('next')
  await until(async () => (await claimNow('next')).status.phase === 'Bound')
  t.equal((await claimNow('next')).spec.volumeName, 'plain', 'a larger one of fewer modes')
})

t.test('what is told of a claim is not told again for volumes that it cannot have', async (t) => {
  const client = await startControllers(t, binder)
  const { volume, claim, claimNow, volumeNow } = makersOf(client)
  await claim('c')
  const told = async () => (await client.list<KubeObject>(resources.events, { namespace })).items
  await until(async () => (await told()).length > 0)
  for (const name of ['x', 'y', 'z']) {
    await volume(name, { storageClassName: 'gold' })
    await until(async () => (await volumeNow(name)).status.phase === 'Available')
  }
  await volume('own')
  await until(async () => (await claimNow('c')).status.phase === 'Bound')
  t.same(
    (await told()).map(({ reason, deprecatedCount }) => [reason, deprecatedCount]),
    [['FailedBinding', 1]],
  )
})

t.test('a volume whose claim has another one is free again', async (t) => {
  const client = await startControllers(t, binder)
  const { volume, claim, claimNow, volumeNow } = makersOf(client)
  await volume('own')
  const { uid } = (await claim('c', { volumeName: 'own' })).metadata
  await until(async () => (await claimNow('c')).status.phase === 'Bound')
  const claimRef = { namespace, name: 'c', uid }
  await volume('ours', { claimRef, annotations: { [boundByController]: 'yes' } })
  await volume('theirs', { claimRef })
  await until(async () => (await volumeNow('ours')).spec.claimRef === undefined)
  await until(async () => (await volumeNow('theirs')).spec.claimRef?.uid === undefined)
  const { spec, metadata } = await volumeNow('theirs')
  t.match(spec.claimRef, { namespace, name: 'c' }, 'somebody else meant it for the claim')
  t.same(metadata.annotations, undefined)
  await until(async () => (await volumeNow('theirs')).status.phase === 'Available')
  // The volume of the claim itself is bound again when somebody takes its name off it.
  const freed = { spec: { claimRef: null } }
  await client.patch(resources.persistentVolumes, { name: 'own' }, freed, { type: 'merge' })
  await until(async () => {
    const { spec: own, status } = await volumeNow('own')
    return own.claimRef?.uid === uid && status.phase === 'Bound'
  })
})

t.test('a claim gets the default class, also one that comes later', async (t) => {
  const client = await startControllers(t, binder)
  const { claim, claimNow } = makersOf(client)
  await claim('c', { storageClassName: undefined })
  await claim('none')
  const untold = async () => (await toldEvents(client, namespace)).length === 2
  await until(untold)
  await client.create<KubeObject>(resources.storageClasses, {
    metadata: {
      name: 'default',
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    provisioner: 'a.b',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  await until(async () => (await claimNow('c')).spec.storageClassName === 'default')
  t.equal((await claimNow('none')).spec.storageClassName, '')
  await until(async () =>
    (await toldEvents(client, namespace)).includes(
      'c WaitForFirstConsumer: waiting for first consumer to be created before binding',
    ),
  )
})

t.test('of the many volumes of other claims no size is read', (t) => {
  const metadata = (name: string) => ({ name, namespace, uid: name, resourceVersion: '1' })
  const kind = { apiVersion: 'v1', kind: 'PersistentVolume' }
  const claim: Claim = {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: metadata('mine') },
    spec: { resources: { requests: { storage: '1Gi' } } },
    status: {},
  }
  const other: Volume = {
    ...{ ...kind, metadata: metadata('other'), status: { phase: 'Bound' } },
    spec: {
      claimRef: { namespace, name: 'other', uid: 'other' },
      get capacity(): { storage: string } {
        throw new Error('it is another claim’s')
      },
    },
  }
  const free: Volume = {
    ...{ ...kind, metadata: metadata('free'), status: { phase: 'Available' } },
    spec: { capacity: { storage: '2Gi' } },
  }
  t.equal(
    findVolume(claim, [other, free], () => true),
    free,
  )
  t.end()
})
