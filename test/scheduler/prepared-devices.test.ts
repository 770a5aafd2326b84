/** Pods wait until drivers have prepared their devices (KEP-5007), and get devices for extended resources (KEP-5004). */
import t from 'tap'
import { formatTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import { extendedResourceAnnotation } from '#api/extended-resources.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import type { ResourceClaim } from '#client/resource-claim.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import {
  claimOf,
  driver,
  namespace,
  podNamed,
  podOf,
  schedule,
  scheduleLater,
  spec,
  start,
  untilBound,
} from './device-cluster.js'

type Test = Parameters<typeof start>[0]
const merge = { type: 'merge', subresource: 'status' } as const

const attached = {
  name: 'g0',
  bindsToNode: true,
  bindingConditions: ['Attached'],
  bindingFailureConditions: ['Broken'],
}

/** What the driver says of the device. */
const tell = (client: Client, type: string, message = '') => {
  const lastTransitionTime = formatTime(Date.now())
  const condition = { type, status: 'True', reason: 'Told', message, lastTransitionTime }
  const devices = [{ driver, pool: 'near', device: 'g0', conditions: [condition] }]
  return client.patch(
    resources.resourceClaims,
    { name: 'c', namespace },
    { status: { devices } },
    merge,
  )
}

const eventsOf = async (client: Client, reason: string): Promise<string[]> => {
  const { items } = await client.list<PersistedObject & { reason: string; note: string }>(
    resources.events,
    { namespace },
  )
  return items.filter((event) => event.reason === reason).map(({ note }) => note)
}

/** Why the Pod was given up. An Event of it may be one more of those that it fitted nowhere, of before its devices were known. */
const failureOf = async (client: Client): Promise<string | undefined> => {
  const condition = await eventually('the failure is told', async () => {
    const known = conditionOf(await podOf(client, 'p'), 'PodScheduled')
    return known?.reason === 'SchedulerError' && known
  })
  return condition.message
}

/** A Pod whose device is allocated and has to be prepared. */
const startWaiting = async (
  t: Test,
  { run = schedule, container = {} }: { run?: typeof schedule; container?: object } = {},
): Promise<Client> => {
  const client = await start(t, [attached], run)
  await client.create(resources.resourceClaims, { metadata: { name: 'c', namespace }, spec })
  await client.create(
    resources.pods,
    podNamed('p', [{ name: 'gpu', resourceClaimName: 'c' }], container),
  )
  await eventually('the Pod waits', async () =>
    (await eventsOf(client, 'BindingConditionsPending')).includes(
      'waiting for binding conditions for device on node near',
    ),
  )
  return client
}

t.test('a Pod is bound when its devices are ready', async (t) => {
  const client = await startWaiting(t)
  const { allocation, reservedFor } = (await claimOf(client, 'c')).status!
  t.match(allocation?.devices.results, [
    { bindingConditions: ['Attached'], bindingFailureConditions: ['Broken'] },
  ])
  t.match(allocation?.allocationTimestamp, /Z$/)
  t.match(reservedFor, [{ name: 'p' }])
  t.equal((await podOf(client, 'p')).spec.nodeName, undefined)
  await tell(client, 'Attached')
  t.equal((await untilBound(client, 'p')).spec.nodeName, 'near')
})

t.test('a device that cannot be prepared is given back, and tried again', async (t) => {
  const client = await startWaiting(t)
  await tell(client, 'Broken', 'no cable')
  t.equal(
    await failureOf(client),
    'running PreBind plugin "DynamicResources": device binding failed: claim=c, reason=Told, message="no cable"',
  )
  // The claim is deallocated, which forgets what was said of the device, and the Pod waits for it again.
  await eventually('the device is allocated anew', async () => {
    const { status } = await claimOf(client, 'c')
    return status?.devices === undefined && status?.allocation !== undefined
  })
  await tell(client, 'Attached')
  await untilBound(client, 'p')
})

t.test('a scheduler that is started again waits for the devices, too', async (t) => {
  const first = new AbortController()
  const client = await startWaiting(t, {
    async run(deps) {
      await schedule({ ...deps, signal: AbortSignal.any([deps.signal, first.signal]) })
      if (!deps.signal.aborted) await schedule(deps)
    },
  })
  const { uid } = (await claimOf(client, 'c')).metadata
  first.abort()
  await tell(client, 'Attached')
  t.equal((await untilBound(client, 'p')).spec.nodeName, 'near')
  const claim = await claimOf(client, 'c')
  t.equal(claim.metadata.uid, uid)
  t.equal(claim.status?.reservedFor?.length, 1)
})

t.test('drivers have ten minutes', async (t) => {
  const client = await startWaiting(t)
  await client.request({ method: 'POST', path: '/kubelevel/clock', body: { advance: '11m' } })
  t.equal(
    await failureOf(client),
    'running PreBind plugin "DynamicResources": device binding timeout: claim=c',
  )
})

t.test('a Pod that waits for its devices makes room without ending', async (t) => {
  const client = await startWaiting(t, {
    container: { resources: { requests: { cpu: '3' } } },
  })
  for (const name of ['urgent', 'more-urgent']) {
    const pod = podNamed(name, [], { resources: { requests: { cpu: '3' } } })
    const priorityClassName = 'system-cluster-critical'
    await client.create(resources.pods, { ...pod, spec: { ...pod.spec, priorityClassName } })
  }
  for (const name of ['urgent', 'more-urgent']) await untilBound(client, name)
  const waiting = await podOf(client, 'p')
  t.equal(waiting.spec.nodeName, undefined)
  t.equal(conditionOf(waiting, 'DisruptionTarget'), undefined)
  const preempted = await eventually('that it made room is told', async () => {
    const events = await eventsOf(client, 'Preempted')
    return events.length > 0 && events
  })
  t.match(preempted, [/on node near \(in kube-scheduler memory\)\.$/])
})

t.test('devices stand for an extended resource that no node has otherwise', async (t) => {
  const client = await start(t, [{ name: 'g0' }, { name: 'g1' }])
  const gpus = (count: number) => {
    const amounts = { 'example.com/gpu': String(count) }
    return { resources: { requests: amounts, limits: amounts } }
  }
  await client.create(resources.pods, podNamed('p', [], gpus(2)))
  const pod = await untilBound(client, 'p')
  t.equal(pod.spec.nodeName, 'near')
  const told = pod.status.extendedResourceClaimStatus!
  t.strictSame(told.requestMappings, [
    { containerName: 'c', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' },
  ])
  const claim = await claimOf(client, told.resourceClaimName)
  t.match(claim.metadata, {
    name: /^p-extended-resources-/,
    annotations: { [extendedResourceAnnotation]: 'true' },
    ownerReferences: [{ kind: 'Pod', name: 'p', uid: pod.metadata.uid, controller: true }],
  })
  t.match(claim.spec.devices?.requests, [{ exactly: { deviceClassName: 'gpu', count: 2 } }])
  t.match(claim.status?.allocation?.devices.results, [{ device: 'g0' }, { device: 'g1' }])
  t.match(claim.status?.reservedFor, [{ name: 'p' }])

  const amounts = { 'deviceclass.resource.kubernetes.io/gpu': '1' }
  const asked = { resources: { requests: amounts, limits: amounts } }
  await client.create(resources.pods, podNamed('second', [], asked))
  await eventually('there is none left', async () =>
    conditionOf(await podOf(client, 'second'), 'PodScheduled')?.message?.startsWith(
      '0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: ',
    ),
  )
  await client.delete(resources.pods, { name: 'p', namespace }, { gracePeriodSeconds: 0 })
  await untilBound(client, 'second')

  const ended = { status: { phase: 'Succeeded' } }
  await client.patch(resources.pods, { name: 'second', namespace }, ended, merge)
  const own = (await podOf(client, 'second')).status.extendedResourceClaimStatus!
  await eventually('a Pod that has ended keeps no devices', () =>
    claimOf(client, own.resourceClaimName).then(() => false, isNotFound),
  )
})

t.test('a node that has the resource of a device plugin needs no claim', async (t) => {
  const client = await start(t, [])
  const has = { capacity: { 'example.com/gpu': '1' }, allocatable: { 'example.com/gpu': '1' } }
  await client.patch(resources.nodes, { name: 'far' }, { status: has }, merge)
  const amounts = { 'example.com/gpu': '1' }
  await client.create(
    resources.pods,
    podNamed('p', [], { resources: { requests: amounts, limits: amounts } }),
  )
  const pod = await untilBound(client, 'p')
  t.equal(pod.spec.nodeName, 'far')
  t.equal(pod.status.extendedResourceClaimStatus, undefined)
})

t.test('the claim of an attempt that failed is removed, and made anew', async (t) => {
  const { run, begin } = scheduleLater()
  const client = await start(t, [{ name: 'g0' }], run)
  const amounts = { 'example.com/gpu': '1' }
  const asks = { resources: { requests: amounts, limits: amounts } }
  await client.create(resources.pods, podNamed('p', [], asks))
  const { uid } = (await podOf(client, 'p')).metadata
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true }
  await client.create<ResourceClaim>(resources.resourceClaims, {
    metadata: {
      name: 'stale',
      namespace,
      annotations: { [extendedResourceAnnotation]: 'true' },
      ownerReferences: [owner],
    },
    spec,
  })
  begin()
  const pod = await untilBound(client, 'p')
  t.not(pod.status.extendedResourceClaimStatus?.resourceClaimName, 'stale')
  t.ok(await claimOf(client, 'stale').then(() => false, isNotFound))
})
