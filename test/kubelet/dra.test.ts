/** Devices of ResourceClaims: prepared before a Pod's containers start, unprepared after the last of them. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import { ResourceSlices } from '#kubelet/dra/resource-slices.js'
import type { Pod } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { type DraTestDriver, startDraDriver } from './dra-driver.js'
import { script, startNode, type TestNode } from './node.js'

const rootOf = ({ folder }: TestNode) => path.join(folder, 'kubelet')
const methodsOf = ({ calls }: DraTestDriver) => calls.map(({ method }) => method)
const namespace = 'default'
const waits = script('trap "exit 0" TERM; while :; do sleep 0.05; done')
const withClaim = { resourceClaims: [{ name: 'device', resourceClaimName: 'gpu-claim' }] }
const container = { ...waits, resources: { claims: [{ name: 'device' }] } }

/** What the scheduler decides: the claim's device, and which Pods may use it. */
const allocate = async ({ client }: TestNode, driver = 'gpu.example') => {
  await client.create(resources.resourceClaims, {
    metadata: { name: 'gpu-claim', namespace },
    spec: {
      devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpus' } }] },
    },
  })
  await tell(client, {
    allocation: {
      devices: { results: [{ request: 'gpu', driver, pool: 'node-1', device: 'gpu-0' }] },
    },
  })
}
const tell = (client: TestNode['client'], status: object) =>
  client.patch(
    resources.resourceClaims,
    { namespace, name: 'gpu-claim' },
    { status },
    { type: 'merge', subresource: 'status' },
  )
const reserve = ({ client }: TestNode, ...pods: Pod[]) =>
  tell(client, {
    reservedFor: pods.map(({ metadata: { name, uid } }) => ({ resource: 'pods', name, uid })),
  })

for (const version of ['v1', 'v1beta1'] as const)
  t.test(
    `a claim is prepared by a driver of ${version}, and unprepared after its Pod`,
    async (t) => {
      const node = await startNode(t)
      await allocate(node)
      const driver = await startDraDriver(t, rootOf(node), { version })
      driver.failures.set('NodePrepareResources', 'the device is lost')
      const pod = await node.run('p', container, withClaim)
      const notReserved = await eventually('why it waits', async () =>
        (await node.events('p')).find(({ reason }) => reason === 'FailedPrepareDynamicResources'),
      )
      t.match(
        notReserved.message,
        /^Failed to prepare dynamic resources: prepare dynamic resources: (DRA driver gpu.example is not registered|pod p \(.*\) is not allowed to use ResourceClaim gpu-claim \(.*\))$/,
      )
      await reserve(node, pod)
      await eventually('what the driver says', async () =>
        (await node.events('p')).some(
          ({ message }) =>
            message ===
            'Failed to prepare dynamic resources: prepare dynamic resources: NodePrepareResources failed for ResourceClaim gpu-claim: the device is lost',
        ),
      )
      t.strictSame((await node.get('p'))?.status?.phase, 'Pending')
      driver.failures.clear()
      await node.ready('p')

      driver.failures.set('NodeUnprepareResources', 'still in use')
      await node.delete('p')
      const told = await eventually('why it is still there', async () =>
        (await node.events('p')).find(({ reason }) => reason === 'FailedKillPod'),
      )
      t.equal(
        told.message,
        'error killing pod: unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim gpu-claim: still in use',
      )
      t.ok((await node.get('p'))?.metadata.deletionTimestamp, 'the Pod waits for its device')
      driver.failures.clear()
      await node.gone('p')
      t.equal(methodsOf(driver).at(-1), 'NodeUnprepareResources')
    },
  )

t.test("the claim of a Pod's extended resources is prepared, though no Pod names it", async (t) => {
  const node = await startNode(t)
  const { client } = node
  const driver = await startDraDriver(t, rootOf(node))
  await allocate(node)
  const amounts = { 'example.com/gpu': '1' }
  const asking = { ...waits, resources: { limits: amounts, requests: amounts } }
  const pod = await client.create<Pod>(resources.pods, {
    metadata: { name: 'p', namespace },
    spec: { containers: [{ name: 'c', image: 'i', ...asking }], terminationGracePeriodSeconds: 5 },
  })
  await reserve(node, pod)
  // As the scheduler does before it binds the Pod.
  const requestMappings = [
    { containerName: 'c', resourceName: 'example.com/gpu', requestName: 'gpu' },
  ]
  const extendedResourceClaimStatus = { resourceClaimName: 'gpu-claim', requestMappings }
  const at = { namespace, name: 'p' }
  const status = { status: { extendedResourceClaimStatus } }
  await client.patch(resources.pods, at, status, { type: 'merge', subresource: 'status' })
  await client.create(
    resources.pods,
    { kind: 'Binding', metadata: at, target: { kind: 'Node', name: 'node-1' } },
    { name: 'p', subresource: 'binding' },
  )
  await node.ready('p')
  t.strictSame(methodsOf(driver), ['NodePrepareResources'])
  t.same((await node.get('p'))?.status?.extendedResourceClaimStatus, extendedResourceClaimStatus)
  await node.delete('p')
  await node.gone('p')
  t.equal(methodsOf(driver).at(-1), 'NodeUnprepareResources')
})

t.test(
  'a claim that several Pods share is unprepared after the last, by whatever kubelet',
  async (t) => {
    const node = await startNode(t, { kubelet: 'process' })
    await allocate(node)
    const driver = await startDraDriver(t, rootOf(node))
    const first = await node.startProcess()
    const a = await node.run('a', container, withClaim)
    await reserve(node, a)
    // One that ends before the other has come to the device would be the last.
    await node.ready('a')
    const b = await node.run(
      'b',
      { ...script('true'), resources: container.resources },
      {
        ...withClaim,
        restartPolicy: 'Never',
      },
    )
    await reserve(node, a, b)
    await node.until('b', ({ status }) => status!.phase === 'Succeeded')
    t.notOk(methodsOf(driver).includes('NodeUnprepareResources'), 'one of them still has it')
    first.kill('SIGKILL')
    await once(first, 'exit')
    // The API forgets the Pod while its kubelet is away.
    await node.delete('a', 0)
    await node.startProcess()
    await eventually('the end', () => methodsOf(driver).at(-1) === 'NodeUnprepareResources')
    await node.delete('b')
    await node.gone('b')
    t.equal(methodsOf(driver).filter((method) => method === 'NodeUnprepareResources').length, 1)
  },
)

t.test(
  'the slices of a driver that does not come back are deleted, those of others are kept',
  async (t) => {
    const node = await startNode(t)
    const { client } = node
    const slice = (name: string, driver: string, nodeName: string) =>
      client.create(resources.resourceSlices, {
        metadata: { name },
        spec: {
          driver,
          nodeName,
          pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
          devices: [{ name: 'gpu-0' }],
        },
      })
    await slice('gone', 'gone.example', 'node-1')
    await slice('elsewhere', 'gone.example', 'node-2')
    await slice('other', 'other.example', 'node-1')
    await slice('back', 'back.example', 'node-1')
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    const ofNode = readFileSync(path.join(node.folder, 'kubeconfig'), 'utf8')
    const asNode = createClient(await parseKubeconfig(ofNode), 'kubelet')
    t.teardown(() => asNode.close())
    const slices = new ResourceSlices({
      client: asNode,
      nodeName: 'node-1',
      log: silentLog,
      signal: stop.signal,
      delayMs: 100,
    })
    slices.leave('back.example')
    slices.keep('back.example')
    slices.leave('gone.example')
    const names = async () =>
      (await client.list(resources.resourceSlices)).items.map(({ metadata }) => metadata.name)
    await eventually('its end', async () => !(await names()).includes('gone'))
    t.strictSame(await names(), ['back', 'elsewhere', 'other'])
  },
)
