/** What becomes of volumes and claims that were left or lost. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { hostPathProvisioner, type Volume } from '#client/persistent-volume.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { deleterOf } from '#controllers/persistentvolume/volume.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'
import { toldEvents } from './told-events.js'

t.test('a claim that a Pod has for itself is made again when it is deleted', async (t) => {
  const controllers = ['ephemeral-volume-controller', 'serviceaccount-controller']
  const client = await startControllers(t, controllers)
  const namespace = 'default'
  await untilPodsAreLetIn(client, namespace)
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

t.test('a claim names the driver that its volume is expected of', async (t) => {
  const client = await startControllers(t, ['persistentvolume-binder-controller'])
  const namespace = 'default'
  const provisioners = {
    driver: 'a.b',
    migrated: 'kubernetes.io/aws-ebs',
    nobody: 'kubernetes.io/no-provisioner',
  }
  for (const [name, provisioner] of Object.entries(provisioners))
    await client.create(resources.storageClasses, { metadata: { name }, provisioner })
  const make = (name: string, more: object) =>
    client.create(resources.persistentVolumeClaims, {
      metadata: { name, namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        ...more,
      },
    })
  await make('named', { storageClassName: '', volumeName: 'not-there' })
  for (const storageClassName of Object.keys(provisioners))
    await make(storageClassName, { storageClassName })
  const told = () => toldEvents(client, namespace)
  const waiting = (name: string, driver: string) =>
    `${name} ExternalProvisioning: Waiting for a volume to be created either by the external provisioner '${driver}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
  const expected = [
    waiting('driver', 'a.b'),
    waiting('migrated', 'ebs.csi.aws.com'),
    'nobody ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner',
  ]
  // The watch of classes may be behind, which is told as well.
  const known = async () => (await told()).filter((text) => !/storageclass.* not found$/.test(text))
  await until(async () => (await known()).length >= expected.length)
  t.same(await known(), expected)
  const annotations = async (name: string) =>
    (await client.get<KubeObject>(resources.persistentVolumeClaims, { name, namespace })).metadata
      .annotations
  const names = (driver: string) => ({
    'volume.beta.kubernetes.io/storage-provisioner': driver,
    'volume.kubernetes.io/storage-provisioner': driver,
  })
  t.same(await annotations('driver'), names('a.b'))
  t.same(await annotations('migrated'), names('ebs.csi.aws.com'))
  t.equal(await annotations('nobody'), undefined)
})

t.test('a claim gets a volume of its attributes class, and says which it has', async (t) => {
  const client = await startControllers(t, ['persistentvolume-binder-controller'])
  const namespace = 'default'
  for (const [name, storage, more] of [
    ['plain', '1Gi', {}],
    ['gold', '2Gi', { volumeAttributesClassName: 'gold' }],
  ] as const)
    await client.create(resources.persistentVolumes, {
      metadata: { name },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage },
        csi: { driver: 'a.b', volumeHandle: name },
        ...more,
      },
    })
  await client.create(resources.persistentVolumeClaims, {
    metadata: { name: 'c', namespace },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: '',
      volumeAttributesClassName: 'gold',
    },
  })
  const claim = () =>
    client.get<KubeObject>(resources.persistentVolumeClaims, { namespace, name: 'c' })
  await until(async () => (await claim()).status.phase === 'Bound')
  const { spec, status } = await claim()
  t.equal(spec.volumeName, 'gold')
  t.equal(status.currentVolumeAttributesClassName, 'gold')
  await client.create(resources.persistentVolumeClaims, {
    metadata: {
      name: 'other',
      namespace,
      annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
    },
    spec: { ...spec, volumeName: 'gold' },
  })
  const volume = { name: 'gold' }
  const told = () => toldEvents(client, namespace)
  await until(async () => (await told()).some((text) => /^other ClaimMisbound: Two/.test(text)))
  const unprotected = { metadata: { finalizers: null } }
  await client.patch(resources.persistentVolumes, volume, unprotected, { type: 'merge' })
  await client.delete(resources.persistentVolumes, volume)
  await until(async () => (await claim()).status.phase === 'Lost')
  t.same((await claim()).status, { phase: 'Lost' }, 'nothing is said of a volume that is gone')
  const lost = 'c ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!'
  await until(async () => (await told()).includes(lost))
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
  t.equal(of({ awsElasticBlockStore: {} }, 'kubernetes.io/aws-ebs'), 'driver')
  t.match(of({ nfs: { server: 's', path: '/' } }), {
    problem: /no deletable volume plugin matched$/,
  })
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

t.test('what is used stays, even if the controllers have not seen the use', async (t) => {
  const namespace = 'default'
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const users = [resources.pods.resource, resources.persistentVolumes.resource]
  const protections = ['persistentvolumeclaim', 'volumeattributesclass']
  const names = protections.map((kind) => `${kind}-protection-controller`)
  const client = await startControllers(t, [...names, 'serviceaccount-controller'], (client) => ({
    async *watch(...[ref, options]: Parameters<Client['watch']>) {
      if (users.includes(ref.resource))
        await new Promise((resolve) => options.signal?.addEventListener('abort', resolve))
      else yield* client.watch(ref, options)
    },
  }))
  await untilPodsAreLetIn(client, namespace)
  const left = async (ref: ResourceRef) => {
    const { items } = await client.list(ref)
    return items.map(({ metadata }) => metadata.name).join()
  }
  for (const name of ['free', 'used']) {
    await client.create(resources.persistentVolumeClaims, { metadata: { name, namespace }, spec })
    const driver = { driverName: 'd.example.com', parameters: { iops: '1' } }
    await client.create(resources.volumeAttributesClasses, { metadata: { name }, ...driver })
  }
  const pod = { name: 'p', namespace }
  await client.create(resources.pods, {
    metadata: pod,
    spec: {
      nodeName: 'n',
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'used' } }],
    },
  })
  const volume = { name: 'v' }
  await client.create(resources.persistentVolumes, {
    metadata: volume,
    spec: {
      accessModes: spec.accessModes,
      capacity: spec.resources.requests,
      csi: { driver: 'd.example.com', volumeHandle: 'v' },
      volumeAttributesClassName: 'used',
    },
  })
  for (const name of ['used', 'free']) {
    await client.delete(resources.persistentVolumeClaims, { name, namespace })
    await client.delete(resources.volumeAttributesClasses, { name })
  }
  await until(async () => !(await left(resources.persistentVolumeClaims)).includes('free'))
  await until(async () => !(await left(resources.volumeAttributesClasses)).includes('free'))
  t.equal(await left(resources.persistentVolumeClaims), 'used')
  t.equal(await left(resources.volumeAttributesClasses), 'used')

  t.comment('it goes when nothing uses it any more, told or not')
  await client.delete(resources.pods, pod, { gracePeriodSeconds: 0 })
  await client.delete(resources.persistentVolumes, volume)
  await client.patch(
    resources.persistentVolumes,
    volume,
    { metadata: { finalizers: null } },
    { type: 'merge' },
  )
  await until(async () => (await left(resources.persistentVolumeClaims)) === '')
  await until(async () => (await left(resources.volumeAttributesClasses)) === '')
})

t.test(
  'a Pod that only finalizers hold does not hold a claim of its own, which would hold the Pod',
  async (t) => {
    const controllers = [
      'ephemeral-volume-controller',
      'serviceaccount-controller',
      'persistentvolumeclaim-protection-controller',
    ]
    const client = await startControllers(t, controllers)
    const namespace = 'default'
    await untilPodsAreLetIn(client, namespace)
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const pod = { name: 'p', namespace }
    await client.create(resources.pods, {
      metadata: { ...pod, finalizers: ['example.com/wait'] },
      spec: {
        nodeName: 'n',
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec } } }],
      },
    })
    const claim = { namespace, name: 'p-scratch' }
    const claimNow = () =>
      client.get(resources.persistentVolumeClaims, claim).catch(() => undefined)
    await until(claimNow)
    await client.delete(resources.persistentVolumeClaims, claim)
    t.match((await claimNow())?.metadata, { finalizers: ['kubernetes.io/pvc-protection'] })
    await client.delete(resources.pods, pod, { gracePeriodSeconds: 0 })
    await until(async () => (await claimNow()) === undefined)
    t.match((await client.get(resources.pods, pod)).metadata, { finalizers: ['example.com/wait'] })
  },
)

t.test(
  'a volume names the driver of its plugin; one that cannot be recycled says so',
  async (t) => {
    const client = await startControllers(t, ['persistentvolume-binder-controller'])
    const make = (name: string, policy: string, provisioner?: string) =>
      client.create(resources.persistentVolumes, {
        metadata: {
          name,
          ...(provisioner && { annotations: { 'pv.kubernetes.io/provisioned-by': provisioner } }),
        },
        spec: {
          accessModes: ['ReadWriteOnce'],
          capacity: { storage: '1Gi' },
          persistentVolumeReclaimPolicy: policy,
          claimRef: { namespace: 'default', name: 'gone', uid: 'gone' },
          awsElasticBlockStore: { volumeID: 'v' },
        },
      })
    await make('migrated', 'Delete', 'kubernetes.io/aws-ebs')
    await make('recycled', 'Recycle')
    const read = (name: string) => client.get<Volume>(resources.persistentVolumes, { name })
    await until(async () => (await read('recycled')).status.phase === 'Failed')
    t.equal((await read('recycled')).status.message, 'No recycler plugin found for the volume!')
    await until(async () => (await read('migrated')).status.phase === 'Released')
    t.match((await read('migrated')).metadata.annotations, {
      'pv.kubernetes.io/migrated-to': 'ebs.csi.aws.com',
    })
  },
)
