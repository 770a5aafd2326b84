/** Claims of Pods get devices before their Pods get nodes, and give them back (resource.k8s.io/v1). */
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import type { Pod } from '#client/pod.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { schedulerProcess } from '#scheduler/main.js'
import { manage, startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'

const namespace = 'default'
const driver = 'gpu.example.com'

const podNamed = (name: string, resourceClaims: object[]) => ({
  metadata: { name, namespace },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    tolerations: [{ operator: 'Exists' }],
    terminationGracePeriodSeconds: 0,
    resourceClaims,
  },
})

const podOf = (client: Client, name: string) => client.get<Pod>(resources.pods, { name, namespace })
const claimOf = (client: Client, name: string) =>
  client.get<ResourceClaim>(resources.resourceClaims, { name, namespace })

/** Two nodes, with one device that only the first reaches. */
const start = async (t: Parameters<typeof startBeside>[0]): Promise<Client> => {
  const flags = parseFlags([], schedulerProcess.flags)
  const run = (deps: Parameters<typeof schedulerProcess.run>[0]) =>
    schedulerProcess.run(deps, flags)
  const options = { disableAdmissionPlugins: ['ServiceAccount'] }
  const client = await startBeside(t, run, undefined, options)
  manage(t, client, { controllers: ['resourceclaim-controller'] })
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  const status = { capacity, allocatable: capacity }
  for (const name of ['near', 'far'])
    await client.create(resources.nodes, { metadata: { name }, status })
  await client.create(resources.deviceClasses, {
    metadata: { name: 'gpu' },
    spec: { selectors: [{ cel: { expression: `device.driver == '${driver}'` } }] },
  })
  await client.create(resources.resourceSlices, {
    metadata: { name: 's' },
    spec: {
      driver,
      nodeName: 'near',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'g0' }],
    },
  })
  return client
}

const spec = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } }

const untilBound = (client: Client, name: string) =>
  eventually(`${name} has a node`, async () => {
    const pod = await podOf(client, name)
    return pod.spec.nodeName === undefined ? undefined : pod
  })

t.test('one Pod after the other gets the only device', async (t) => {
  const client = await start(t)
  const metadata = { name: 'one-gpu', namespace }
  await client.create(resources.resourceClaimTemplates, { metadata, spec: { spec } })
  const uses = [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }]
  await client.create(resources.pods, podNamed('first', uses))
  const first = await untilBound(client, 'first')
  t.equal(first.spec.nodeName, 'near')
  const { resourceClaimName = '' } = first.status.resourceClaimStatuses![0]!
  const claim = await claimOf(client, resourceClaimName)
  t.match(claim.metadata.finalizers, ['resource.kubernetes.io/delete-protection'])
  t.match(claim.status, {
    allocation: {
      allocationTimestamp: String,
      devices: { results: [{ request: 'r', driver, pool: 'p', device: 'g0' }] },
      nodeSelector: {
        nodeSelectorTerms: [
          { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['near'] }] },
        ],
      },
    },
    reservedFor: [{ resource: 'pods', name: 'first', uid: first.metadata.uid }],
  })

  await client.create(resources.pods, podNamed('second', uses))
  await eventually('the second Pod waits for a device', async () => {
    const condition = conditionOf(await podOf(client, 'second'), 'PodScheduled')
    return condition?.message?.startsWith(
      '0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: ',
    )
  })
  await client.delete(resources.pods, { name: 'first', namespace }, { gracePeriodSeconds: 0 })
  t.equal((await untilBound(client, 'second')).spec.nodeName, 'near')
})

t.test('a claim is shared, and keeps its devices as long as somebody uses it', async (t) => {
  const client = await start(t)
  await client.create(resources.resourceClaims, { metadata: { name: 'shared', namespace }, spec })
  const uses = [{ name: 'gpu', resourceClaimName: 'shared' }]
  for (const name of ['first', 'second']) await client.create(resources.pods, podNamed(name, uses))
  for (const name of ['first', 'second'])
    t.equal((await untilBound(client, name)).spec.nodeName, 'near')
  const users = async () =>
    (await claimOf(client, 'shared')).status?.reservedFor?.map(({ name }) => name).sort()
  t.strictSame(await users(), ['first', 'second'])

  await client.delete(resources.resourceClaims, { name: 'shared', namespace })
  t.ok((await claimOf(client, 'shared')).metadata.deletionTimestamp, 'it is in use')
  await client.delete(resources.pods, { name: 'first', namespace }, { gracePeriodSeconds: 0 })
  await eventually('one user is left', async () => (await users())?.length === 1)
  t.ok((await claimOf(client, 'shared')).status?.allocation)
  const ended = { status: { phase: 'Succeeded' } }
  await client.patch(resources.pods, { name: 'second', namespace }, ended, {
    type: 'merge',
    subresource: 'status',
  })
  await eventually('the claim goes with its last user', () =>
    claimOf(client, 'shared').then(() => false, isNotFound),
  )
})

t.test('an idle claim that keeps a Pod off its node is allocated anew', async (t) => {
  const client = await start(t)
  await client.create(resources.resourceClaims, { metadata: { name: 'idle', namespace }, spec })
  const selector = { key: 'metadata.name', operator: 'In', values: ['gone'] }
  const allocation = {
    devices: { results: [{ request: 'r', driver, pool: 'p', device: 'g0' }] },
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [selector] }] },
  }
  await client.patch(
    resources.resourceClaims,
    { name: 'idle', namespace },
    { status: { allocation } },
    { type: 'merge', subresource: 'status' },
  )
  await client.create(resources.pods, podNamed('p', [{ name: 'gpu', resourceClaimName: 'idle' }]))
  t.equal((await untilBound(client, 'p')).spec.nodeName, 'near')
  t.match((await claimOf(client, 'idle')).status?.allocation?.nodeSelector?.nodeSelectorTerms, [
    { matchFields: [{ values: ['near'] }] },
  ])
})
