/** EndpointSlices and Endpoints of the same cluster are those of kube-controller-manager 1.36.3, in every field. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { PersistedObject } from '#api/object.js'
import type { Client, RawRequest } from '#client/client.js'
import { resources } from '#client/resources.js'
import { eventually } from '../eventually.js'
import { readRecorded } from '../recorded.js'
import { manage, startBeside, startControllers } from './in-process.js'

type Given = Record<string, unknown> & { metadata: { name: string } }
interface State {
  readonly slices: readonly object[]
  readonly endpoints: readonly object[]
}
interface Recorded {
  readonly nodes: readonly Given[]
  readonly pods: readonly (Given & { status: object })[]
  readonly services: readonly Given[]
  readonly before: State
  readonly changes: readonly (readonly [method: string, path: string, body?: object])[]
  readonly after: State
}
const recorded = readRecorded<Recorded>('controllers/endpoints')

type Test = Pick<typeof t, 'same'>
const namespace = 'default'
const serviceName = 'kubernetes.io/service-name'
/** The one of the API server itself. */
const isOurs = ({ metadata: { name } }: PersistedObject): boolean => name !== 'kubernetes'

interface Address {
  readonly targetRef?: { readonly uid?: string }
}
interface Shown extends PersistedObject {
  readonly endpoints?: null | readonly (Address & { readonly addresses: readonly string[] })[]
  readonly subsets?: readonly Partial<Record<'addresses' | 'notReadyAddresses', Address[]>>[]
}

const withoutUid = <T extends { uid?: string }>({ uid: _theirs, ...rest }: T) => rest
const shownAddress = <T extends Address>({ targetRef, ...address }: T) => ({
  ...address,
  ...(targetRef ? { targetRef: withoutUid(targetRef) } : {}),
})

const shownSlice = ({ metadata, addressType, ports, endpoints }: Shown): object => ({
  labels: metadata.labels,
  owners: metadata.ownerReferences!.map(withoutUid),
  generateName: metadata.generateName,
  addressType,
  ports,
  // They come in the order in which a map of Go's yields them.
  endpoints: [...(endpoints ?? [])]
    .map(shownAddress)
    .sort((a, b) => (a.addresses[0]! < b.addresses[0]! ? -1 : 1)),
})

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
const sortedAsText = (list: readonly object[]): object[] =>
  list
    .map(textOf)
    .sort()
    .map((text) => JSON.parse(text))

const shownEndpoints = ({ metadata: { name, labels }, subsets = [] }: Shown): object => ({
  name,
  labels,
  // Their order is that of hashes, of uids too.
  subsets: sortedAsText(
    subsets.map(({ addresses, notReadyAddresses, ...ports }) => ({
      ...ports,
      ...(addresses ? { addresses: addresses.map(shownAddress) } : {}),
      ...(notReadyAddresses ? { notReadyAddresses: notReadyAddresses.map(shownAddress) } : {}),
    })),
  ),
})

const inOrder = (state: State): State => ({
  slices: sortedAsText(state.slices),
  endpoints: sortedAsText(state.endpoints),
})

const slicesOf = async (client: Client): Promise<PersistedObject[]> =>
  (await client.list(resources.endpointSlices, { namespace })).items.filter(isOurs)

/** Whose slices and Endpoints were a matter of when, not of what. */
interface Raced {
  readonly slices: readonly string[]
  readonly endpoints: readonly string[]
}
const stateOf = async (client: Client, raced: Raced): Promise<State> => {
  const slices = (await slicesOf(client)).filter(
    ({ metadata }) => !raced.slices.includes(metadata.labels![serviceName]!),
  )
  const endpoints = (await client.list(resources.endpoints, { namespace })).items.filter(
    (object) => isOurs(object) && !raced.endpoints.includes(object.metadata.name),
  )
  return inOrder({ slices: slices.map(shownSlice), endpoints: endpoints.map(shownEndpoints) })
}

/** Waits for what was recorded; tells the difference when it does not come. */
const comesTo = async (
  t: Test,
  client: Client,
  wanted: State,
  raced: Raced = { slices: [], endpoints: [] },
): Promise<void> => {
  const expected = inOrder(wanted)
  let found: State | undefined
  const same = async () => {
    found = await stateOf(client, raced)
    return isDeepStrictEqual(found, expected)
  }
  await eventually('the recorded state', same).finally(() => {
    t.same(found?.slices, expected.slices, 'EndpointSlices')
    t.same(found?.endpoints, expected.endpoints, 'Endpoints')
  })
}

const begin = async (client: Client): Promise<void> => {
  for (const node of recorded.nodes) await client.create(resources.nodes, node)
  for (const { status, ...pod } of recorded.pods) {
    const at = { namespace, name: pod.metadata.name }
    const made = await client.create(resources.pods, {
      ...pod,
      metadata: { ...pod.metadata, namespace },
    })
    const options = { type: 'merge', subresource: 'status' } as const
    await client.patch(resources.pods, at, { status }, options)
    if (made.metadata.finalizers !== undefined) await client.delete(resources.pods, at)
  }
  for (const service of recorded.services)
    await client.create(resources.services, {
      ...service,
      metadata: { ...service.metadata, namespace },
    })
}

t.test('endpoints of every kind of Service, and what becomes of them', async (t) => {
  const controllers = ['endpoints-controller', 'endpointslice-controller']
  const client = await startBeside(t, async () => {}, undefined, {
    serviceClusterIpRange: '10.0.0.0/24,fd00:10::/112',
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  await begin(client)
  // When all is there: a Pod that comes later triggers a change of its own.
  manage(t, client, { controllers })
  await comesTo(t, client, recorded.before)
  const created = (await client.list(resources.services, { namespace })).items
  for (const slice of await slicesOf(client)) {
    const service = created.find(
      ({ metadata }) => metadata.name === slice.metadata.labels![serviceName],
    )
    t.equal(
      slice.metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'],
      service!.metadata.creationTimestamp,
    )
  }
  const change = (method: string, path: string, body?: object): Promise<unknown> => {
    const patch = { body, contentType: 'application/merge-patch+json' }
    return client.request({ method, path, ...(body && patch) } as RawRequest)
  }
  for (const [method, path, body] of recorded.changes) await change(method, path, body)
  // What another hand writes into slices is taken back.
  const pathOf = (slice: PersistedObject): string =>
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${slice.metadata.name}`
  const of = (name: string) => (slice: PersistedObject) =>
    slice.metadata.labels![serviceName] === name
  const slices = await slicesOf(client)
  await change('PATCH', pathOf(slices.find(of('close'))!), {
    metadata: { labels: { x: 'y' } },
    endpoints: [],
  })
  await change('DELETE', pathOf(slices.find(of('dual'))!))
  await comesTo(t, client, recorded.after, {
    slices: ['headless-port', 'dual-headless'],
    endpoints: ['headless-port'],
  })
})

t.test('Endpoints go with their Service, and without one at the next start only', async (t) => {
  const controllers = ['endpoints-controller']
  const client = await startControllers(t, controllers)
  const make = (name: string, annotations?: Record<string, string>) =>
    client.create(resources.endpoints, { metadata: { name, namespace, annotations } })
  const names = async () =>
    (await client.list(resources.endpoints, { namespace })).items
      .filter(isOurs)
      .map(({ metadata }) => metadata.name)
  for (const name of ['ours', 'theirs'])
    await client.create(resources.services, {
      metadata: { name, namespace },
      spec: { ports: [{ port: 80 }], ...(name === 'ours' ? { selector: { a: 'b' } } : {}) },
    })
  // It has started by then.
  await eventually('the Endpoints of the Service', async () => (await names()).includes('ours'))
  await make('alone')
  await make('lock', { 'control-plane.alpha.kubernetes.io/leader': '{}' })
  await make('theirs')
  for (const name of ['theirs', 'ours'])
    await client.delete(resources.services, { name, namespace })
  // It may come back for a moment, until the controller has seen that its Service is gone.
  const only = (left: string) =>
    eventually(`only ${left} is left`, async () => (await names()).join() === left)
  await only('alone,lock')
  manage(t, client, { controllers })
  await only('lock')
})
