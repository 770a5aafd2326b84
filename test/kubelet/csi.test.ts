/** Volumes of CSI drivers, from the driver's registration to the end of the last Pod that has them. */
import { once } from 'node:events'
import path from 'node:path'
import t from 'tap'
import { attachmentName, uniqueName } from '#client/csi-volume.js'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { manage } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'
import { type CsiTestDriver, startCsiDriver } from './csi-driver.js'
import { script, startNode, type TestNode } from './node.js'

const driverName = 'test.csi.example'
const source = { driver: driverName, volumeHandle: 'disk-1' }
const claimed = { name: 'd', persistentVolumeClaim: { claimName: 'disk' } }

const rootOf = ({ folder }: TestNode) => path.join(folder, 'kubelet')
/** Says what is in its volume, and lives until it is told to end. */
const reader = {
  ...script(
    'cat $CONTAINER_ROOT/d/data; trap "exit 0" TERM; echo " up"; while :; do sleep 0.05; done',
  ),
  volumeMounts: [{ name: 'd', mountPath: '/d' }],
}
const methodsOf = ({ calls }: CsiTestDriver) => calls.map(({ method }) => method)

const makeCsiDriver = ({ client }: TestNode, spec: object) =>
  client.create(resources.csiDrivers, { metadata: { name: driverName }, spec })

/** A claim `disk` that is bound to a volume of the driver. */
const makeClaim = async ({ client }: TestNode) => {
  const namespace = 'default'
  const resourcesOf = { storage: '1Gi' }
  await client.create(resources.secrets, {
    metadata: { name: 'key', namespace },
    stringData: { password: 'x' },
  })
  const claim = await client.create(resources.persistentVolumeClaims, {
    metadata: { name: 'disk', namespace },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      volumeName: 'pv-1',
      resources: { requests: resourcesOf },
    },
  })
  await client.create(resources.persistentVolumes, {
    metadata: { name: 'pv-1' },
    spec: {
      capacity: resourcesOf,
      accessModes: ['ReadWriteOnce'],
      mountOptions: ['noatime'],
      claimRef: { namespace, name: 'disk', uid: claim.metadata.uid },
      csi: {
        ...source,
        volumeAttributes: { size: 'small' },
        nodeStageSecretRef: { namespace, name: 'key' },
      },
    },
  })
  await client.patch(
    resources.persistentVolumeClaims,
    { namespace, name: 'disk' },
    { status: { phase: 'Bound' } },
    { type: 'merge', subresource: 'status' },
  )
}

const nodeObject = ({ client }: TestNode) => client.get<Node>(resources.nodes, { name: 'node-1' })
const inUse = async (node: TestNode) => (await nodeObject(node)).status.volumesInUse ?? []

const attachment = ({ client }: TestNode) =>
  client
    .get(resources.volumeAttachments, { name: attachmentName(source, 'node-1') })
    .catch(() => undefined)
/** What the driver's attacher does with what the controller asks for. */
const attach = async (node: TestNode) => {
  const found = await eventually('the VolumeAttachment', () => attachment(node))
  const status = { attached: true, attachmentMetadata: { device: 'sdb' } }
  await node.client.patch(
    resources.volumeAttachments,
    found.metadata,
    { status },
    { type: 'merge', subresource: 'status' },
  )
}

t.test('a driver registers, and its node says so until it goes', async (t) => {
  const node = await startNode(t)
  const driver = await startCsiDriver(t, rootOf(node))
  const drivers = () =>
    node.client
      .get(resources.csiNodes, { name: 'node-1' })
      .then(({ spec }) => spec.drivers ?? [])
      .catch(() => undefined)
  const found = await eventually('its CSINode', async () => (await drivers())?.[0])
  t.strictSame(found, {
    name: driverName,
    nodeID: 'machine-7',
    topologyKeys: ['topology.csi.example/rack'],
    allocatable: { count: 5 },
  })
  const { metadata } = await nodeObject(node)
  t.equal(metadata.labels?.['topology.csi.example/rack'], 'r1')
  const annotation = 'csi.volume.kubernetes.io/nodeid'
  t.equal(metadata.annotations?.[annotation], `{"${driverName}":"machine-7"}`)
  driver.unregister()
  await eventually('its end', async () => (await drivers())?.length === 0)
  await eventually('the annotation', async () => {
    const { annotations } = (await nodeObject(node)).metadata
    return annotations?.[annotation] === undefined
  })
})

t.test('a volume is attached, staged, published, and all of it undone in turn', async (t) => {
  const node = await startNode(t)
  await makeCsiDriver(node, { podInfoOnMount: true, fsGroupPolicy: 'File' })
  await makeClaim(node)
  manage(t, node.client, { controllers: ['persistentvolume-attach-detach-controller'] })
  const driver = await startCsiDriver(t, rootOf(node))
  await node.run('p', reader, { volumes: [claimed] })
  await eventually('the volume in use', async () =>
    (await inUse(node)).includes('kubernetes.io/csi/test.csi.example^disk-1'),
  )
  t.strictSame(methodsOf(driver), [], 'nothing is mounted before the volume is attached')
  await attach(node)
  await node.ready('p')
  await eventually('its data', async () => (await node.logs('p')).includes('data of disk-1 up'))
  const [stage, publish] = driver.calls
  t.match(stage, {
    method: 'NodeStageVolume',
    request: {
      volume_id: 'disk-1',
      publish_context: { device: 'sdb' },
      volume_capability: { mount: { mount_flags: ['noatime'] }, access_mode: { mode: 1 } },
      secrets: { password: 'x' },
      volume_context: { size: 'small' },
    },
  })
  t.match(publish, {
    method: 'NodePublishVolume',
    request: {
      volume_id: 'disk-1',
      publish_context: { device: 'sdb' },
      readonly: false,
      secrets: {},
      volume_context: { size: 'small', 'csi.storage.k8s.io/pod.name': 'p' },
    },
  })
  t.equal(publish!.request.staging_target_path, stage!.request.staging_target_path)

  driver.failures.set('NodeUnpublishVolume', 'the disk is busy')
  await node.delete('p')
  const told = await eventually('why it is still there', async () =>
    (await node.events('p')).find(({ reason }) => reason === 'FailedUnmount'),
  )
  t.equal(
    told.message,
    'UnmountVolume.TearDown failed for volume "pv-1" : kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal desc = the disk is busy',
  )
  const dying = await node.until('p', ({ status }) => status!.phase === 'Succeeded')
  t.ok(
    dying.metadata.deletionTimestamp,
    'its container has ended, but the Pod waits for its volume',
  )
  t.notOk(methodsOf(driver).includes('NodeUnstageVolume'))
  t.strictSame(await inUse(node), [uniqueName(source)])
  t.ok(await attachment(node), 'it stays attached')

  driver.failures.clear()
  await node.gone('p')
  await eventually('that the volume is free', async () => (await inUse(node)).length === 0)
  await eventually('that it is detached', async () => (await attachment(node)) === undefined)
  const ends = methodsOf(driver).slice(2)
  t.equal(ends.at(-1), 'NodeUnstageVolume')
  t.ok(ends.slice(0, -1).every((method) => method === 'NodeUnpublishVolume'))
})

t.test('a kubelet that was killed undoes what the one before has mounted', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  await makeCsiDriver(node, { attachRequired: false })
  await makeClaim(node)
  const driver = await startCsiDriver(t, rootOf(node))
  const first = await node.startProcess()
  await node.run('a', reader, { volumes: [claimed] })
  await node.run('b', reader, { volumes: [claimed] })
  await node.ready('a')
  await node.ready('b')
  t.equal(methodsOf(driver).filter((method) => method === 'NodeStageVolume').length, 1)
  first.kill('SIGKILL')
  await once(first, 'exit')
  const before = driver.calls.length
  await node.delete('a')
  await node.delete('b', 0)
  const count = (method: string) => methodsOf(driver).filter((one) => one === method).length
  driver.failures.set('NodeUnstageVolume', 'not yet')
  await node.startProcess()
  await node.gone('a')
  await eventually('that it is tried', () => count('NodeUnstageVolume') > 0)
  const ends = methodsOf(driver).slice(before)
  t.strictSame(
    ends.filter((method) => method !== 'NodeUnstageVolume'),
    ['NodeUnpublishVolume', 'NodeUnpublishVolume'],
    'also of the Pod that the API had forgotten',
  )
  t.ok(ends.indexOf('NodeUnstageVolume') > ends.lastIndexOf('NodeUnpublishVolume'))
  driver.failures.clear()
  const tries = count('NodeUnstageVolume')
  await eventually('that it is tried again', () => count('NodeUnstageVolume') > tries)
  await node.run('c', reader, { volumes: [claimed] })
  await node.ready('c')
  t.equal(count('NodeStageVolume'), 2)
  await node.delete('c', 1)
  await node.gone('c')
})

t.test('an inline volume comes with its Pod and goes when the Pod has ended', async (t) => {
  const node = await startNode(t)
  await makeCsiDriver(node, {
    attachRequired: false,
    podInfoOnMount: true,
    volumeLifecycleModes: ['Ephemeral'],
    tokenRequests: [{ audience: 'vault' }],
  })
  const driver = await startCsiDriver(t, rootOf(node))
  await node.client.create(resources.serviceAccounts, {
    metadata: { name: 'default', namespace: 'default' },
  })
  const inline = { driver: driverName, volumeAttributes: { colour: 'blue' } }
  await node.run(
    'p',
    { ...script('cat $CONTAINER_ROOT/d/data'), volumeMounts: reader.volumeMounts },
    {
      restartPolicy: 'Never',
      serviceAccountName: 'default',
      volumes: [{ name: 'd', csi: { ...inline, readOnly: true } }],
    },
  )
  await node.until('p', ({ status }) => status!.phase === 'Succeeded')
  t.equal(await node.logs('p'), 'unstaged')
  await eventually('its unmount', () => methodsOf(driver).includes('NodeUnpublishVolume'))
  t.strictSame(methodsOf(driver), ['NodePublishVolume', 'NodeUnpublishVolume'])
  const { request } = driver.calls[0]!
  const { volume_context: context } = request as { volume_context: Record<string, string> }
  t.match(request, { readonly: true, staging_target_path: '' })
  t.match(context, { colour: 'blue', 'csi.storage.k8s.io/ephemeral': 'true' })
  const { vault } = JSON.parse(context['csi.storage.k8s.io/serviceAccount.tokens']!)
  t.equal(vault.token.split('.').length, 3)
})

t.test(
  'a Pod that goes while its driver still mounts waits for that, and has it undone',
  async (t) => {
    const node = await startNode(t)
    await makeCsiDriver(node, { attachRequired: false })
    await makeClaim(node)
    const driver = await startCsiDriver(t, rootOf(node))
    let goOn: () => void = () => {}
    driver.holds.set('NodeStageVolume', new Promise((resolve) => (goOn = resolve)))
    await node.run('p', reader, { volumes: [claimed] })
    await eventually('the call', () => methodsOf(driver).includes('NodeStageVolume'))
    await node.delete('p', 1)
    await node.until('p', ({ status }) => status!.phase === 'Failed')
    t.strictSame(methodsOf(driver), ['NodeStageVolume'], 'the next call has to wait for this one')
    goOn()
    await node.gone('p')
    await eventually('the end', () => methodsOf(driver).includes('NodeUnstageVolume'))
    t.strictSame(methodsOf(driver), ['NodeStageVolume', 'NodeUnstageVolume'])
  },
)

/** As its controller leaves a claim whose volume it has made larger. */
const grow = async ({ client }: TestNode, storage: string, asOfOld = false) => {
  const at = { namespace: 'default', name: 'disk' }
  const merge = { type: 'merge' } as const
  await client.patch(
    resources.persistentVolumes,
    { name: 'pv-1' },
    { spec: { capacity: { storage } } },
    merge,
  )
  const condition = (type: string) => ({ type, status: 'True' })
  const allocated = {
    allocatedResources: { storage },
    allocatedResourceStatuses: { storage: 'NodeResizePending' },
  }
  const unallocated = { allocatedResources: null, allocatedResourceStatuses: null }
  const conditions = [condition('FileSystemResizePending'), condition('ModifyVolumeError')]
  const status = {
    capacity: { storage: '1Gi' },
    conditions,
    ...(asOfOld ? unallocated : allocated),
  }
  await client.patch(
    resources.persistentVolumeClaims,
    at,
    { status },
    { ...merge, subresource: 'status' },
  )
}

t.test(
  'a volume that has become larger is expanded, before its Pod starts and while it runs',
  async (t) => {
    const node = await startNode(t)
    const claimStatus = async () =>
      (
        await node.client.get(resources.persistentVolumeClaims, {
          namespace: 'default',
          name: 'disk',
        })
      ).status
    const expanded = (storage: string) =>
      eventually(
        `it has ${storage}`,
        async () => (await claimStatus()).capacity.storage === storage,
      )
    const toldOf = async (name: string, reason: string) =>
      (await node.events(name)).filter((event) => event.reason === reason)
    await makeCsiDriver(node, { attachRequired: false })
    await makeClaim(node)
    await grow(node, '2Gi')
    const driver = await startCsiDriver(t, rootOf(node), { capabilities: [1, 3] })
    driver.failures.set('NodeExpandVolume', 'not yet')
    await eventually('that the driver is known', () =>
      node.client.get(resources.csiNodes, { name: 'node-1' }).catch(() => undefined),
    )
    await node.run('p', reader, { volumes: [claimed] })
    const why =
      'Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = not yet'
    const failed = `MountVolume.MountDevice failed while expanding volume for volume "pv-1" : ${why}`
    await eventually('why it does not start', async () =>
      (await toldOf('p', 'FailedMount')).some(({ message }) => message === failed),
    )
    t.match(await claimStatus(), {
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress' },
      conditions: [
        {},
        {},
        { type: 'NodeResizeError', message: `failed to expand pvc with ${why}` },
      ],
    })
    driver.failures.clear()
    await node.ready('p')
    await expanded('2Gi')
    t.match(await claimStatus(), {
      conditions: [{ type: 'ModifyVolumeError' }],
      allocatedResources: { storage: '2Gi' },
      allocatedResourceStatuses: undefined,
    })
    const { request } = driver.calls.at(-1)!
    t.match(request, { volume_id: 'disk-1', capacity_range: { required_bytes: String(2 ** 31) } })
    const [, publish] = driver.calls
    t.equal(request.volume_path, publish!.request.target_path)
    const message = 'MountVolume.NodeExpandVolume succeeded for volume "pv-1" node-1'
    for (const name of ['p', 'disk'])
      await eventually(`${name} says so`, async () =>
        (await toldOf(name, 'FileSystemResizeSuccessful')).some(
          (event) => event.message === message,
        ),
      )

    await grow(node, '3Gi', true)
    await node.client.request({ method: 'POST', path: '/kubelevel/clock', body: { advance: '2m' } })
    await expanded('3Gi')
    t.equal(methodsOf(driver).filter((method) => method === 'NodePublishVolume').length, 1)
  },
)
