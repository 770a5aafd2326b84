/** Volumes follow their Pods from node to node, and never leave one that uses them. */
import t, { type Test } from 'tap'
import type { PersistedObject } from '#api/object.js'
import { attachmentName } from '#client/csi-volume.js'
import type { Volume } from '#client/persistent-volume.js'
import type { Node, Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import {
  isShared,
  lookAgainMs,
  mayDetach,
  takenBy,
  unmountWaitMs,
} from '#controllers/attach-detach/attachments.js'
import { storedMetadata } from '../stored-metadata.js'
import { startCluster, until } from './cluster.js'

const volume = {
  kind: 'PersistentVolume',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 'pv' }),
  spec: { accessModes: ['ReadWriteOnce'], csi: { driver: 'd.io', volumeHandle: 'h-one' } },
  status: {},
} as unknown as Volume
const nodeWith = (spec: object, volumesInUse: string[] = []): Node => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 'n' }),
  spec,
  status: { volumesInUse },
})

t.test('a volume leaves a node that has unmounted it, is off, or is silent for long', (t) => {
  const used = ['kubernetes.io/csi/d.io^h-one']
  const soon = { unwantedForMs: 0, isReady: false }
  const late = { unwantedForMs: unmountWaitMs, isReady: false }
  const off = { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] }
  t.ok(mayDetach(nodeWith({}), volume, soon))
  t.notOk(mayDetach(nodeWith({}, used), volume, soon))
  t.ok(mayDetach(nodeWith(off, used), volume, soon))
  t.ok(mayDetach(nodeWith({}, used), volume, late))
  t.notOk(mayDetach(nodeWith({}, used), volume, { ...late, isReady: true }), 'it is well')
  t.notOk(mayDetach(undefined, volume, soon), 'nobody knows whether it uses it')
  t.ok(mayDetach(undefined, volume, late))
  t.end()
})

t.test('a volume that is in use is looked at again when its time is over, not later', (t) => {
  t.equal(lookAgainMs(0), unmountWaitMs)
  t.equal(lookAgainMs(100_000), unmountWaitMs - 100_000)
  t.equal(lookAgainMs(unmountWaitMs), unmountWaitMs, 'its node is ready, and may use it for long')
  t.end()
})

t.test('the Pods that have a volume are named in their own namespace only', (t) => {
  const pod = (name: string, namespace: string) => ({ metadata: { name, namespace } }) as Pod
  const own = pod('p', 'a')
  t.match(takenBy(own, []), /^Volume is already exclusively attached to one node/)
  t.equal(takenBy(own, [pod('x', 'a')]), 'Volume is already used by pod(s) x')
  t.equal(
    takenBy(own, [pod('x', 'a'), pod('y', 'b')]),
    'Volume is already used by pod(s) x and 1 pod(s) in different namespaces',
  )
  t.notOk(isShared(volume))
  t.end()
})

const namespace = 'volumes'
const nameOn = (node: string): string => attachmentName(volume.spec.csi!, node)

type Run = (name: string, nodeName: string, claimName?: string) => Promise<unknown>

/** Two nodes, and claims with their volumes: `c` with `pv`, and `c2` with `pv2`; `before` the controllers begin. */
const start = async (t: Test, before: (run: Run) => Promise<unknown> = async () => {}) => {
  const { client, spawn, createNamespace } = await startCluster(t)
  await createNamespace(namespace)
  const managed = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
  for (const name of ['n1', 'n2'])
    await client.create(resources.nodes, { metadata: { name, annotations: managed } })
  for (const which of ['', '2']) {
    await client.create(resources.persistentVolumeClaims, {
      metadata: { name: `c${which}`, namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: 's',
        volumeName: `pv${which}`,
      },
    })
    const { csi } = volume.spec
    await client.create(resources.persistentVolumes, {
      metadata: { name: `pv${which}` },
      spec: {
        ...volume.spec,
        csi: { ...csi, volumeHandle: `${csi!.volumeHandle}${which}` },
        capacity: { storage: '1Gi' },
        storageClassName: 's',
        claimRef: { namespace, name: `c${which}` },
      },
    })
  }
  const run: Run = (name, nodeName, claimName = 'c') =>
    client.create(resources.pods, {
      metadata: { name, namespace },
      spec: {
        nodeName,
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
      },
    })
  await before(run)
  spawn('controller-manager', '--controllers=persistentvolume-binder-controller,attachdetach')
  const attachments = async () => (await client.list(resources.volumeAttachments, {})).items
  return {
    client,
    attachments,
    nodesWithIt: async () => (await attachments()).map(({ spec }) => spec.nodeName),
    run,
    status: (ref: (typeof resources)['nodes'], name: string, fields: object) =>
      client.patch(ref, { name }, { status: fields }, { type: 'merge', subresource: 'status' }),
    messages: async (): Promise<string[]> =>
      (
        await client.list({ ...resources.pods, resource: 'events', kind: 'Event' }, { namespace })
      ).items.map(({ message }) => message),
  }
}

t.test(
  'a volume is attached where its Pod is, and moves when the first node lets go',
  async (t) => {
    const { client, run, attachments, nodesWithIt, status, messages } = await start(t)
    const attachedTo = async (name: string): Promise<string[]> =>
      ((await client.get(resources.nodes, { name })).status?.volumesAttached ?? []).map(
        (v: { name: string }) => v.name,
      )
    await run('first', 'n1')
    await until(async () => (await nodesWithIt()).length > 0)
    const name = nameOn('n1')
    t.match(await attachments(), [
      { metadata: { name }, spec: { attacher: 'd.io', nodeName: 'n1' } },
    ])
    await status(resources.volumeAttachments, name, { attached: true })
    const unique = 'kubernetes.io/csi/d.io^h-one'
    await until(async () => (await attachedTo('n1')).length > 0)
    t.same(await attachedTo('n1'), [unique])
    await status(resources.nodes, 'n1', { volumesInUse: [unique] })

    await run('second', 'n2')
    const told = async () => (await messages()).filter((text) => text.startsWith('Multi-Attach'))
    await until(async () => (await told()).length > 0)
    t.same(await told(), [
      'Multi-Attach error for volume "pv" Volume is already used by pod(s) first',
    ])
    await client.delete(resources.pods, { namespace, name: 'first' }, { gracePeriodSeconds: 0 })
    t.same(await nodesWithIt(), ['n1'], 'the node still uses it')
    await status(resources.nodes, 'n1', { volumesInUse: null })
    await until(async () => (await nodesWithIt()).join() === 'n2')
    t.same(await attachedTo('n1'), [])

    await status(resources.volumeAttachments, nameOn('n2'), { attached: true })
    await until(async () => (await attachedTo('n2')).length > 0)
    // A lost node whose Node is deleted: its Pod keeps the volume for as long as its object is there.
    await client.delete(resources.nodes, { name: 'n2' })
    await run('third', 'n1')
    await until(async () => (await told()).length > 1)
    t.match((await told()).at(-1), /Volume is already used by pod\(s\) second$/)
    t.same(await nodesWithIt(), ['n2'])
    await client.delete(resources.pods, { namespace, name: 'second' }, { gracePeriodSeconds: 0 })
    await until(async () => (await nodesWithIt()).join() === 'n1')

    const silence =
      'AttachVolume.Attach failed for volume "pv" : timed out waiting for external-attacher of d.io CSI driver to attach volume h-one'
    await until(async () => {
      const body = { advance: '2m' }
      await client.request({ method: 'POST', path: '/kubelevel/clock', body })
      return (await messages()).includes(silence)
    })
  },
)

t.test('an attachment is not taken back before its driver has answered', async (t) => {
  const { client, run, attachments, nodesWithIt, status, messages } = await start(t)
  await run('first', 'n1')
  await until(async () => (await nodesWithIt()).length > 0)
  await client.delete(resources.pods, { namespace, name: 'first' }, { gracePeriodSeconds: 0 })
  await run('second', 'n2')
  await run('other', 'n1', 'c2')
  // Who has seen that one has seen that the first is gone.
  await until(async () => (await nodesWithIt()).length > 1)
  t.same(await nodesWithIt(), ['n1', 'n1'])
  await status(resources.volumeAttachments, nameOn('n1'), { attached: true })
  const isOn2 = ({ metadata }: PersistedObject): boolean => metadata.name === nameOn('n2')
  await until(async () => (await attachments()).some(isOn2))
  await until(async () =>
    (await messages()).includes('AttachVolume.Attach succeeded for volume "pv" '),
  )
})

t.test('an attachment that somebody else has made is left alone', async (t) => {
  const { client, run, nodesWithIt, attachments, status } = await start(t)
  const source = { persistentVolumeName: 'pv' }
  await client.create(resources.volumeAttachments, {
    metadata: { name: 'own' },
    spec: { attacher: 'd.io', nodeName: 'n2', source },
  })
  await status(resources.volumeAttachments, 'own', { attached: true })
  await run('first', 'n1')
  await until(async () => (await nodesWithIt()).includes('n1'))
  await run('other', 'n2', 'c2')
  // Who has seen that one has seen all that is there.
  await until(async () => (await nodesWithIt()).length > 2)
  t.ok((await attachments()).some(({ metadata }) => metadata.name === 'own'))
  const node = await client.get(resources.nodes, { name: 'n2' })
  t.equal(node.status?.volumesAttached, undefined)
})

/** What the driver does that attaches and detaches: it holds the attachment until it has detached the volume. */
const held = { metadata: { finalizers: ['d.io/attacher'] } }

t.test('another node waits in silence while a driver lets go of a volume', async (t) => {
  const { client, run, attachments, nodesWithIt, status, messages } = await start(t)
  const [first, name] = [nameOn('n1'), nameOn('n2')]
  await run('first', 'n1')
  await until(async () => (await nodesWithIt()).length > 0)
  await status(resources.volumeAttachments, first, { attached: true })
  await client.patch(resources.volumeAttachments, { name: first }, held, { type: 'merge' })
  await client.delete(resources.pods, { namespace, name: 'first' }, { gracePeriodSeconds: 0 })
  await until(
    async () =>
      (await attachments()).find(({ metadata }) => metadata.name === first)?.metadata
        .deletionTimestamp,
  )
  await run('second', 'n2')
  await run('other', 'n2', 'c2')
  // Who has seen that one has seen the second.
  await until(async () => (await nodesWithIt()).length > 1)
  t.notOk((await attachments()).some(({ metadata }) => metadata.name === name))

  await status(resources.volumeAttachments, first, { detachError: { message: 'busy' } })
  await until(async () => (await attachments()).some(({ metadata }) => metadata.name === name))
  const { items } = await client.list(resources.nodes)
  t.same(
    items.flatMap((node) => node.status?.volumesAttached ?? []),
    [],
    'the first node must not use it any more',
  )
  await run('back', 'n1')
  const refusal = 'AttachVolume.Attach failed for volume "pv" : volume attachment is being deleted'
  await until(async () => (await messages()).includes(refusal))
  t.notOk((await messages()).some((text) => text.startsWith('Multi-Attach')))
})

t.test('a driver that does not let go of a volume in two minutes holds nobody up', async (t) => {
  const { client, run, attachments, nodesWithIt, status } = await start(t)
  const first = nameOn('n1')
  await run('first', 'n1')
  await until(async () => (await nodesWithIt()).length > 0)
  await status(resources.volumeAttachments, first, { attached: true })
  await client.patch(resources.volumeAttachments, { name: first }, held, { type: 'merge' })
  await client.delete(resources.pods, { namespace, name: 'first' }, { gracePeriodSeconds: 0 })
  await run('second', 'n2')
  await until(async () => {
    const body = { advance: '1m' }
    await client.request({ method: 'POST', path: '/kubelevel/clock', body })
    return (await attachments()).some(({ metadata }) => metadata.name === nameOn('n2'))
  })
})

t.test('a node that a volume could not be attached to does not keep it from another', async (t) => {
  const { run, nodesWithIt, status, messages } = await start(t)
  await run('first', 'n1')
  await until(async () => (await nodesWithIt()).length > 0)
  const attachError = { message: 'no disk' }
  await status(resources.volumeAttachments, nameOn('n1'), { attached: false, attachError })
  const failure = 'AttachVolume.Attach failed for volume "pv" : no disk'
  await until(async () => (await messages()).includes(failure))
  await run('second', 'n2')
  await until(async () => (await nodesWithIt()).includes('n2'))
  const told = async () => (await messages()).filter((text) => text.startsWith('Multi-Attach'))
  t.same(await told(), [])
  await status(resources.volumeAttachments, nameOn('n2'), { attached: true })
  await until(async () => (await told()).length > 0)
  t.same(await told(), [
    'Multi-Attach error for volume "pv" Volume is already used by pod(s) second',
  ])
})

t.test('a volume that two nodes want at once is attached to one of them', async (t) => {
  const { nodesWithIt, status, messages } = await start(t, (run) =>
    Promise.all([run('first', 'n1'), run('second', 'n2')]),
  )
  await until(async () => (await nodesWithIt()).length > 0)
  const [node] = await nodesWithIt()
  await status(resources.volumeAttachments, nameOn(node), { attached: true })
  await until(async () => (await messages()).some((text) => text.startsWith('Multi-Attach')))
  t.same(await nodesWithIt(), [node])
})
