/** Which slices are written when endpoints change, and what is told when that is refused. */
import { once } from 'node:events'
import t from 'tap'
import { failure } from '#api/errors.js'
import type { NamespacedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import type { Service } from '#controllers/endpointslice/endpoint.js'
import { type EndpointSlice, reconcileSlices } from '#controllers/endpointslice/reconcile.js'
import { triggerTimeAnnotation } from '#controllers/endpointslice/trigger-time.js'
import { storedMetadata } from '../stored-metadata.js'
import { until } from './cluster.js'
import { startControllers } from './in-process.js'
import { storedPod } from './stored-pod.js'
import { toldEvents } from './told-events.js'

const namespace = 'default'
const serviceName = 'kubernetes.io/service-name'
const controllers = ['endpointslice-controller', 'endpoints-controller']

const serviceOf = (metadata: object = {}): Service => ({
  kind: 'Service',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 'web', uid: 'now', ...metadata }),
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }] },
})
const pods = (from: number, to: number): Pod[] =>
  Array.from({ length: to - from }, (_, i) => storedPod(`p${from + i}`))

const reconcile = (service: Service, pods: readonly Pod[], slices: readonly EndpointSlice[]) => {
  const { create, update, ...rest } = reconcileSlices({
    service,
    pods,
    slices,
    node: () => undefined,
    endpointsMax: 100,
  })
  const sizes = (list: readonly { endpoints: unknown[] | null }[]) =>
    list.map(({ endpoints }) => endpoints!.length)
  return {
    made: sizes(create),
    create,
    changed: update.map(({ metadata: { name }, endpoints }) => [name, endpoints!.length]),
    gone: rest.delete.map(({ metadata: { name } }) => name),
  }
}
const sliceWith = (name: string, members: readonly Pod[], service = serviceOf()): EndpointSlice => {
  const [made] = reconcile(service, members, []).create
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    ...made!,
    metadata: storedMetadata({ ...made!.metadata, name }),
  }
}

t.test('what is new goes into slices that change anyway, or together into one with room', (t) => {
  const full = sliceWith('full', pods(0, 95))
  const half = sliceWith('half', pods(95, 145))
  const small = sliceWith('small', pods(145, 155))
  const slices = [full, half, small]
  const change = (from: number, to: number) => {
    const { made, changed, gone } = reconcile(serviceOf(), pods(from, to), slices)
    return { made, changed, gone }
  }
  t.same(change(0, 155), { made: [], changed: [], gone: [] })
  t.same(change(0, 165), { made: [], changed: [['half', 60]], gone: [] })
  t.same(change(0, 265), { made: [100], changed: [['half', 60]], gone: [] })
  t.same(change(1, 158), { made: [], changed: [['full', 97]], gone: [] })
  t.same(change(1, 163), {
    made: [],
    changed: [
      ['full', 100],
      ['half', 52],
    ],
    gone: [],
  })
  t.end()
})

t.test('a Service leaves alone what was made for the one before it, and makes its own', (t) => {
  const old = sliceWith('old', pods(0, 2), serviceOf({ uid: 'before' }))
  const { made, changed, gone } = reconcile(serviceOf(), pods(0, 2), [old])
  t.same({ made, changed, gone }, { made: [2], changed: [], gone: ['old'] })
  t.end()
})

t.test('an empty slice stays where a Pod has the same ports and no address of its family', (t) => {
  const service: Service = {
    ...serviceOf(),
    spec: {
      selector: { app: 'web' },
      ports: [{ port: 80, targetPort: 'web', protocol: 'TCP' }],
      ipFamilies: ['IPv6'],
    },
  }
  const http = { containerPort: 80, protocol: 'TCP' }
  const withAddress = (name: string, ip: string, portName: string): Pod =>
    storedPod(name, {
      spec: { containers: [{ name: 'c', ports: [{ ...http, name: portName }] }] },
      status: { podIPs: [{ ip }] },
    })
  const members = [withAddress('old', '10.0.0.1', 'other'), withAddress('new', 'fd00::1', 'web')]
  const empty = sliceWith('empty', [], service)
  const { made, changed, gone } = reconcile(service, members, [empty])
  t.same({ made, changed, gone }, { made: [1], changed: [], gone: [] })
  t.same(reconcile(service, members.slice(1), [empty]).made, [], 'else it is used')
  t.end()
})

t.test(
  'endpoints of a Service that waits for its finalizers follow its Pods; none is made',
  (t) => {
    const slice = sliceWith('web-1', pods(0, 3))
    const ending = serviceOf({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a.b/c'] })
    const shrunk = reconcile(ending, pods(0, 2), [slice])
    t.same([shrunk.made, shrunk.changed], [[], [['web-1', 2]]])
    t.same(reconcile(ending, pods(0, 1), []).made, [])
    t.end()
  },
)

const create = (client: Client, name: string, spec: object = {}) =>
  client.create(resources.services, {
    metadata: { name, namespace },
    spec: { selector: { app: name }, ports: [{ port: 80 }], ...spec },
  })
const slicesOf = async (client: Client, service: string): Promise<NamespacedObject[]> => {
  const { items } = await client.list<NamespacedObject>(resources.endpointSlices, { namespace })
  return items.filter(({ metadata }) => metadata.labels?.[serviceName] === service)
}

t.test('a slice that somebody gives to another Service is made anew for its own', async (t) => {
  const client = await startControllers(t, controllers)
  await create(client, 'a')
  await until(async () => (await slicesOf(client, 'a')).length === 1)
  const [slice] = await slicesOf(client, 'a')
  const labels = { [serviceName]: 'b' }
  const at = { name: slice!.metadata.name, namespace }
  await client.patch(resources.endpointSlices, at, { metadata: { labels } }, { type: 'merge' })
  await until(async () => (await slicesOf(client, 'a')).length === 1)
})

t.test('a slice that somebody makes in our name goes', async (t) => {
  const client = await startControllers(t, controllers)
  await create(client, 'a')
  await until(async () => (await slicesOf(client, 'a')).length === 1)
  const labels = {
    [serviceName]: 'a',
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  }
  const endpoints = [{ addresses: ['192.0.2.1'] }]
  await client.create(resources.endpointSlices, {
    metadata: { name: 'strange', namespace, labels },
    addressType: 'IPv4',
    endpoints,
    ports: [],
  })
  await until(
    async () => !(await slicesOf(client, 'a')).some(({ metadata }) => metadata.name === 'strange'),
  )
})

t.test('what cannot be written is told, on the Service and on its Endpoints', async (t) => {
  const client = await startControllers(t, controllers, (real) => ({
    create: async (...[ref, ...rest]: Parameters<Client['create']>) => {
      if (ref.resource === 'endpointslices' || ref.resource === 'endpoints')
        throw failure({ code: 403, reason: 'Forbidden', message: 'no' })
      return real.create(ref, ...rest)
    },
  }))
  await create(client, 'a')
  const expected = [
    'a FailedToCreateEndpoint: Failed to create endpoint for service default/a: no',
    'a FailedToUpdateEndpointSlices: Error updating Endpoint Slices for Service default/a: failed to create EndpointSlice for Service default/a: no',
  ]
  await until(async () => {
    const told = await toldEvents(client, namespace)
    return expected.every((line) => told.includes(line))
  })
})

t.test('a Service that goes while it is looked at leaves nothing to the next one', async (t) => {
  const asked = new AbortController()
  const replaced = new AbortController()
  const client = await startControllers(
    t,
    ['endpointslice-controller'],
    (real) => ({
      get: async (...what: Parameters<Client['get']>) => {
        if (what[0].resource === 'nodes' && !replaced.signal.aborted) {
          asked.abort()
          await once(replaced.signal, 'abort')
        }
        return real.get(...what)
      },
    }),
    { disableAdmissionPlugins: ['ServiceAccount'] },
  )
  const name = 'a'
  await create(client, name)
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace, labels: { app: name } },
    spec: { nodeName: 'nowhere', containers: [{ name: 'c', image: 'i' }] },
  })
  const status = { podIP: '192.0.2.1', podIPs: [{ ip: '192.0.2.1' }] }
  const at = { namespace, name: 'p' }
  await client.patch(resources.pods, at, { status }, { type: 'merge', subresource: 'status' })
  if (!asked.signal.aborted) await once(asked.signal, 'abort')
  const [old] = await slicesOf(client, name)
  if (old) await client.delete(resources.endpointSlices, { namespace, name: old.metadata.name })
  await client.delete(resources.services, { namespace, name })
  await create(client, name)
  replaced.abort()
  const service = await client.get<NamespacedObject>(resources.services, { namespace, name })
  await until(async () =>
    (await slicesOf(client, name)).some(
      ({ metadata }) => metadata.ownerReferences?.[0]?.uid === service.metadata.uid,
    ),
  )
  const slices = await slicesOf(client, name)
  t.same(
    slices.map(({ metadata }) => metadata.annotations?.[triggerTimeAnnotation]),
    [service.metadata.creationTimestamp],
  )
})
