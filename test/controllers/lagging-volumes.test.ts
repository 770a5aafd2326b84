/** Volumes are attached, and stay attached, though the controller learns of one kind later than of others. */
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { uniqueName } from '#client/csi-volume.js'
import type { Node } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'
import { startSeeing } from './lost-sight.js'

const namespace = 'default'
const controllers = ['persistentvolume-attach-detach-controller']
const options = { disableAdmissionPlugins: ['ServiceAccount'] }
const storage = { storageClassName: 's', accessModes: ['ReadWriteOnce'] }
const csiOf = (name: string) => ({ driver: 'd.example.com', volumeHandle: name })

const tell = (client: Client, ref: ResourceRef, name: string, status: object) =>
  client.patch(
    ref,
    { name, ...(ref === resources.persistentVolumeClaims ? { namespace } : {}) },
    { status },
    { type: 'merge', subresource: 'status' },
  )

const createNode = (client: Client) => {
  const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
  return client.create(resources.nodes, { metadata: { name: 'n', annotations } })
}

/** A Pod on the node, its claim and a volume, all of one name. The claim is not called bound yet, nor is the volume. */
const createPod = async (client: Client, name: string) => {
  const { persistentVolumeClaims: claims, persistentVolumes: volumes, pods } = resources
  const { metadata } = await client.create<PersistedObject>(claims, {
    metadata: { name, namespace },
    spec: { ...storage, volumeName: name, resources: { requests: { storage: '1Gi' } } },
  })
  await client.create(volumes, {
    metadata: { name },
    spec: { ...storage, csi: csiOf(name), capacity: { storage: '1Gi' } },
  })
  await client.create(pods, {
    metadata: { name, namespace },
    spec: {
      nodeName: 'n',
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name } }],
    },
  })
  const claimRef = { name, namespace, uid: metadata.uid }
  return {
    bindClaim: () => tell(client, claims, name, { phase: 'Bound' }),
    bindVolume: () => client.patch(volumes, { name }, { spec: { claimRef } }, { type: 'merge' }),
  }
}

const attachments = async (client: Client) =>
  (await client.list<PersistedObject>(resources.volumeAttachments)).items

t.test(
  'a volume is attached also when its claim is the first to say that it is bound',
  async (t) => {
    const client = await startControllers(t, controllers, undefined, options)
    await createNode(client)
    const one = await createPod(client, 'one')
    const two = await createPod(client, 'two')
    await two.bindVolume()
    await one.bindClaim()
    await two.bindClaim()
    await until(async () => (await attachments(client)).length === 1)
    await one.bindVolume()
    await until(async () => (await attachments(client)).length === 2)
    t.pass('both are attached')
  },
)

t.test('a volume stays that its node has begun to use, though the watch is behind', async (t) => {
  const { nodes, pods, volumeAttachments } = resources
  const seeing = await startSeeing(t, nodes, controllers, options)
  const { client, loseSight, seeAgain, reads } = seeing
  await createNode(client)
  const { bindClaim, bindVolume } = await createPod(client, 'p')
  await bindVolume()
  await bindClaim()
  await until(async () => (await attachments(client)).length > 0)
  const [attachment] = await attachments(client)
  await tell(client, volumeAttachments, attachment!.metadata.name, { attached: true })
  const isListed = async () =>
    Boolean((await client.get<Node>(nodes, { name: 'n' })).status.volumesAttached)
  await until(isListed)
  loseSight()
  await tell(client, nodes, 'n', { volumesInUse: [uniqueName(csiOf('p'))] })
  await client.delete(pods, { name: 'p', namespace }, { gracePeriodSeconds: 0 })
  const isDecided = async () => reads.includes('nodes') || (await attachments(client)).length === 0
  await until(isDecided)
  t.equal((await attachments(client)).length, 1)
  await until(isListed)
  seeAgain()
  await tell(client, nodes, 'n', { volumesInUse: null })
  await until(async () => (await attachments(client)).length === 0)
})
