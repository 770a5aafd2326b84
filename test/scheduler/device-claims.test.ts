/** Claims of Pods get devices before their Pods get nodes, and give them back (resource.k8s.io/v1). */
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import { isNotFound } from '#client/errors.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import {
  claimOf,
  driver,
  namespace,
  podNamed,
  podOf,
  publish,
  scheduleLater,
  spec,
  start,
  untilBound,
} from './device-cluster.js'

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
      devices: { results: [{ request: 'r', driver, pool: 'near', device: 'g0' }] },
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
    devices: { results: [{ request: 'r', driver, pool: 'near', device: 'g0' }] },
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

t.test('claims share a device until its capacity is used up', async (t) => {
  const client = await start(t, [
    { name: 'g0', allowMultipleAllocations: true, capacity: { memory: { value: '8Gi' } } },
  ])
  const asked = { deviceClassName: 'gpu', capacity: { requests: { memory: '4Gi' } } }
  const half = { devices: { requests: [{ name: 'r', exactly: asked }] } }
  for (const name of ['first', 'second', 'third']) {
    await client.create(resources.resourceClaims, { metadata: { name, namespace }, spec: half })
    await client.create(resources.pods, podNamed(name, [{ name: 'gpu', resourceClaimName: name }]))
    if (name !== 'third') await untilBound(client, name)
  }
  t.match((await claimOf(client, 'second')).status?.allocation?.devices.results, [
    { device: 'g0', shareID: String, consumedCapacity: { memory: '4Gi' } },
  ])
  await eventually('the third Pod waits for a share', async () =>
    conditionOf(await podOf(client, 'third'), 'PodScheduled')?.message?.includes(
      '2 cannot allocate all claims',
    ),
  )
  await client.delete(resources.pods, { name: 'first', namespace }, { gracePeriodSeconds: 0 })
  t.equal((await untilBound(client, 'third')).spec.nodeName, 'near')
})

t.test('of two nodes the one with the better alternative is taken', async (t) => {
  const { run, begin } = scheduleLater()
  const client = await start(t, undefined, run)
  await publish(client, 'far', [{ name: 'better', attributes: { model: { string: 'new' } } }])
  begin()
  const expression = `'${driver}' in device.attributes && device.attributes['${driver}'].model == 'new'`
  const firstAvailable = [
    { name: 'new', deviceClassName: 'gpu', selectors: [{ cel: { expression } }] },
    { name: 'any', deviceClassName: 'gpu' },
  ]
  const requests = [{ name: 'r', firstAvailable }]
  const metadata = { name: 'c', namespace }
  await client.create(resources.resourceClaims, { metadata, spec: { devices: { requests } } })
  await client.create(resources.pods, podNamed('p', [{ name: 'gpu', resourceClaimName: 'c' }]))
  t.equal((await untilBound(client, 'p')).spec.nodeName, 'far')
})

t.test('a claim that was made for another Pod is not taken for one of a template', async (t) => {
  const client = await start(t)
  await client.create(resources.resourceClaims, { metadata: { name: 'alien', namespace }, spec })
  const uses = [{ name: 'gpu', resourceClaimTemplateName: 'none' }]
  await client.create(resources.pods, podNamed('p', uses))
  const resourceClaimStatuses = [{ name: 'gpu', resourceClaimName: 'alien' }]
  await client.patch(
    resources.pods,
    { name: 'p', namespace },
    { status: { resourceClaimStatuses } },
    { type: 'strategic', subresource: 'status' },
  )
  await client.create(
    resources.pods,
    podNamed('other', [{ name: 'g', resourceClaimName: 'alien' }]),
  )
  await untilBound(client, 'other')
  t.equal((await podOf(client, 'p')).spec.nodeName, undefined)
  const { uid } = (await podOf(client, 'p')).metadata
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true }
  await client.patch(
    resources.resourceClaims,
    { name: 'alien', namespace },
    { metadata: { ownerReferences: [owner] } },
    { type: 'merge' },
  )
  t.equal((await untilBound(client, 'p')).spec.nodeName, 'near', 'it is its own now')
})

t.test('a selector that fails keeps the Pod off all nodes, and says so', async (t) => {
  const client = await start(t)
  const asked = {
    deviceClassName: 'gpu',
    selectors: [{ cel: { expression: `device.attributes['${driver}'].none` } }],
  }
  const requests = [{ name: 'r', exactly: asked }]
  const metadata = { name: 'c', namespace }
  await client.create(resources.resourceClaims, { metadata, spec: { devices: { requests } } })
  await client.create(resources.pods, podNamed('p', [{ name: 'gpu', resourceClaimName: 'c' }]))
  // It may be looked at before its claim or the devices are known.
  const condition = await eventually('it is told', async () => {
    const told = conditionOf(await podOf(client, 'p'), 'PodScheduled')
    return told?.reason === 'SchedulerError' && told
  })
  t.match(condition, {
    message:
      'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL runtime error: no such key: none',
  })
})

t.test(
  'a selector that fails only when others would have gone ends neither preemption nor the scheduler',
  async (t) => {
    const client = await start(t)
    const large = { resources: { requests: { cpu: '3' } } }
    for (const name of ['first', 'second'])
      await client.create(resources.pods, podNamed(name, [], large))
    for (const name of ['first', 'second']) await untilBound(client, name)
    const selectors = [{ cel: { expression: `device.attributes['${driver}'].none` } }]
    const requests = [{ name: 'r', exactly: { deviceClassName: 'gpu', selectors } }]
    const metadata = { name: 'c', namespace }
    await client.create(resources.resourceClaims, { metadata, spec: { devices: { requests } } })
    const priorityClass = { group: 'scheduling.k8s.io', version: 'v1', resource: 'priorityclasses' }
    await client.create(
      { ...priorityClass, kind: 'PriorityClass', namespaced: false },
      { metadata: { name: 'high' }, value: 1 },
    )
    const { metadata: named, spec: wish } = podNamed(
      'p',
      [{ name: 'gpu', resourceClaimName: 'c' }],
      large,
    )
    await client.create(resources.pods, {
      metadata: named,
      spec: { ...wish, priorityClassName: 'high' },
    })
    // It may be looked at before its claim or the devices are known.
    const condition = await eventually('it is told', async () => {
      const told = conditionOf(await podOf(client, 'p'), 'PodScheduled')
      return told?.message?.includes('selector #0') && told
    })
    t.match(condition, {
      reason: 'Unschedulable',
      message:
        '0/2 nodes are available: 2 Insufficient cpu. preemption: running "DynamicResources" filter plugin: claim default/c: selector #0: CEL runtime error: no such key: none',
    })
    await client.create(resources.pods, podNamed('small', []))
    await untilBound(client, 'small')
  },
)
