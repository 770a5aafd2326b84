/** Which slices show Endpoints that somebody wrote by hand. */
import t from 'tap'
import type { EndpointSubset, Endpoints } from '#controllers/endpoints/reconcile.js'
import { type MirroredSlice, planMirror } from '#controllers/endpointslice-mirroring/reconcile.js'
import { storedMetadata } from '../stored-metadata.js'

const endpointsOf = (subsets: EndpointSubset[], metadata: object = {}): Endpoints => ({
  kind: 'Endpoints',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 'db', ...metadata }),
  subsets,
})
const port = (name: string, number: number) => ({ name, port: number, protocol: 'TCP' })
const addresses = (...last: number[]) => last.map((n) => ({ ip: `192.0.2.${n}` }))

const plan = (endpoints: Endpoints, slices: MirroredSlice[] = []) =>
  planMirror(endpoints, slices, 1000)
const slicesFor = (endpoints: Endpoints): MirroredSlice[] =>
  plan(endpoints).create.map((made, i) => ({
    ...(made as unknown as MirroredSlice),
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: storedMetadata({ ...made.metadata, name: `db-${i}` }),
  }))
const shown = (endpoints: Endpoints): string[] =>
  slicesFor(endpoints)
    .map(({ endpoints: list, ports }) =>
      [
        ...list!.map(({ addresses, conditions }) => `${addresses}${conditions.ready ? '' : '!'}`),
        ...ports!.map(({ name }) => name).sort(),
      ].join(' '),
    )
    .sort()

t.test('ports that the same addresses have share a slice, and no address is in it twice', (t) => {
  t.same(
    shown(
      endpointsOf([
        { addresses: addresses(1), ports: [port('a', 1)] },
        { addresses: addresses(1), ports: [port('b', 2)] },
        { addresses: addresses(2), notReadyAddresses: addresses(3), ports: [port('c', 3)] },
        { addresses: addresses(3), ports: [port('c', 3)] },
      ]),
    ),
    ['192.0.2.1 a b', '192.0.2.2 192.0.2.3! c'],
  )
  t.same(shown(endpointsOf([{ addresses: addresses(1) }])), ['192.0.2.1'])
  t.end()
})

t.test('a slice stays when its ports change, and goes with the Endpoints that it is of', (t) => {
  const before = endpointsOf([{ addresses: addresses(1), ports: [port('a', 1)] }])
  const changed = endpointsOf([{ addresses: addresses(1), ports: [port('a', 2)] }])
  const { create, update, ...rest } = plan(changed, slicesFor(before))
  t.same(
    [create, update.map(({ metadata: { name }, ports }) => [name, ports![0]!.port]), rest.delete],
    [[], [['db-0', 2]], []],
  )
  t.same(plan(before, slicesFor(before)).update, [])
  const anew = endpointsOf(before.subsets!, { uid: 'another' })
  t.same(
    plan(anew, slicesFor(before)).update.map(({ metadata }) => metadata.ownerReferences?.[0]?.uid),
    ['another'],
  )
  const ending = { deletionTimestamp: '2026-01-01T00:00:00Z' }
  t.same(plan(endpointsOf(before.subsets!, ending)).create, [])
  t.end()
})
