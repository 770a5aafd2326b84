/** Which shares of devices claims get, as kube-scheduler 1.36 gives them (KEP-5075). */
import t from 'tap'
import type { AllocatedDevice, ResourceClaim } from '#client/resource-claim.js'
import type { DeviceCapacity } from '#client/resource-slice.js'
import { allocate } from '#scheduler/devices/allocate.js'
import { takenBy } from '#scheduler/devices/capacity.js'
import { devicesInUse } from '#scheduler/devices/in-use.js'
import { poolsOf } from '#scheduler/devices/pools.js'
import { storedMetadata } from '../stored-metadata.js'
import { node } from './small-cluster.js'

const driver = 'nic.example.com'

const slice = (devices: object[], name = 's', pool = 'p', more: object = {}) =>
  ({
    metadata: storedMetadata({ name }),
    spec: {
      driver,
      nodeName: 'n',
      pool: { name: pool, generation: 1, resourceSliceCount: 1 },
      devices,
      ...more,
    },
  }) as never

const nic = (name: string, capacity: Record<string, DeviceCapacity>, more: object = {}) => ({
  name,
  attributes: { port: { string: name } },
  allowMultipleAllocations: true,
  capacity,
  ...more,
})

const request = (name: string, requests?: Record<string, string>, more: object = {}) => ({
  name,
  exactly: { deviceClassName: 'nic', ...(requests && { capacity: { requests } }), ...more },
})

const claim = (requests: object[], devices: object = {}) =>
  ({
    metadata: storedMetadata({ name: 'c' }),
    spec: { devices: { requests, ...devices } },
  }) as unknown as ResourceClaim

/** What claims got: devices, and what their shares take. */
const choose = (
  claims: ResourceClaim[],
  slices: never[],
  inUse: Partial<AllocatedDevice>[] = [],
): AllocatedDevice[] | undefined =>
  allocate(claims, node('n'), {
    pools: poolsOf(slices),
    classOf: (name) => ({ metadata: storedMetadata({ name }), spec: {} }) as never,
    inUse: devicesInUse([
      {
        devices: {
          results: inUse.map((one) => ({ request: 'r', driver, pool: 'p', device: 'a', ...one })),
        },
      },
    ]),
  })?.flatMap(({ devices }) => devices.results ?? [])

const brief = (results: AllocatedDevice[] | undefined) =>
  results?.map(({ device, consumedCapacity }) => [device, consumedCapacity])

t.test('claims share a device as long as its capacity lasts', (t) => {
  const slices = [slice([nic('a', { bandwidth: { value: '10G' } })])]
  const four = claim([request('r', { bandwidth: '4G' })])
  const found = choose([four, four], slices)
  t.match(found, [
    { device: 'a', shareID: /^[0-9a-f]{8}-/, consumedCapacity: { bandwidth: '4G' } },
    { device: 'a', shareID: /^[0-9a-f]{8}-/, consumedCapacity: { bandwidth: '4G' } },
  ])
  t.not(found![0]!.shareID, found![1]!.shareID, 'each its own')
  t.equal(choose([four, four, four], slices), undefined)
  const share = { shareID: 'x', consumedCapacity: { bandwidth: '3G' } }
  t.ok(choose([four], slices, [share, share]))
  t.equal(choose([four], slices, [share, share, share]), undefined)
  t.equal(choose([four], slices, [{}]), undefined, 'somebody has it to himself')
  t.ok(
    choose([four], slices, [{ ...share, adminAccess: true }, share, share]),
    'administrators take nothing',
  )
  t.strictSame(brief(choose([claim([request('r')])], slices)), [['a', { bandwidth: '10G' }]])
  t.equal(choose([claim([request('r', { size: '1' })])], slices), undefined, 'no such capacity')
  t.equal(choose([claim([request('r', { bandwidth: '1G' }, { count: 2 })])], slices), undefined)
  t.end()
})

t.test('a device that is not shared has to be large enough', (t) => {
  const slices = [slice([{ name: 'a', capacity: { memory: { value: '8Gi' } } }])]
  t.strictSame(brief(choose([claim([request('r', { memory: '4Gi' })])], slices)), [
    ['a', undefined],
  ])
  t.equal(choose([claim([request('r', { memory: '9Gi' })])], slices), undefined)
  t.end()
})

t.test('a policy decides what a request takes', (t) => {
  const taken = (asked: string | undefined, requestPolicy: DeviceCapacity['requestPolicy']) =>
    takenBy(asked === undefined ? {} : { m: asked }, {
      m: { value: '8Gi', ...(requestPolicy && { requestPolicy }) },
    })?.get('m')?.text
  t.equal(taken(undefined, undefined), '8Gi')
  t.equal(taken('3Gi', undefined), '3Gi')
  t.equal(taken(undefined, { default: '1Gi' }), '1Gi')
  const values = { default: '1Gi', validValues: ['1Gi', '2Gi', '4Gi'] }
  t.equal(taken('3Gi', values), '4Gi', 'the next that is enough')
  t.equal(taken('5Gi', values), undefined)
  const range = { default: '1Gi', validRange: { min: '1Gi', max: '4Gi', step: '512Mi' } }
  t.equal(taken('1', range), '1Gi')
  t.equal(taken('1100Mi', range), '1536Mi')
  t.equal(taken('4Gi', range), '4Gi')
  t.equal(taken('4097Mi', range), undefined)
  t.equal(taken('1100Mi', { default: '1Gi', validRange: { min: '1Gi' } }), '1100Mi')
  t.end()
})

t.test(
  'two shares of one request are of different devices, and constraints can part those of two',
  (t) => {
    const ten = { bandwidth: { value: '10G' } }
    const slices = [slice([nic('a', ten), nic('b', ten)])]
    const one = { bandwidth: '1G' }
    const devices = (asked: ResourceClaim) => choose([asked], slices)?.map(({ device }) => device)
    t.strictSame(devices(claim([request('r', one, { count: 2 })])), ['a', 'b'])
    t.strictSame(devices(claim([request('x', one), request('y', one)])), ['a', 'a'])
    const apart = { constraints: [{ distinctAttribute: `${driver}/port` }] }
    t.strictSame(devices(claim([request('x', one), request('y', one)], apart)), ['a', 'b'])
    t.end()
  },
)

t.test('shares of a partition take its counters once', (t) => {
  const part = (name: string) =>
    nic(
      name,
      { bandwidth: { value: '10G' } },
      { consumesCounters: [{ counterSet: 'c', counters: { n: { value: '1' } } }] },
    )
  const counters = { sharedCounters: [{ name: 'c', counters: { n: { value: '1' } } }] }
  const pool = { name: 'p', generation: 1, resourceSliceCount: 2 }
  const slices = [
    slice([part('a'), part('b')], 's', 'p', { pool }),
    slice([], 'counters', 'p', { pool, devices: undefined, ...counters }),
  ]
  const four = claim([request('r', { bandwidth: '4G' })])
  t.strictSame(
    choose([four, four], slices)?.map(({ device }) => device),
    ['a', 'a'],
  )
  t.equal(choose([four, four, four], slices), undefined, 'b has no counters')
  t.end()
})

t.test(
  'names say which pool and slice comes first; devices that have to be prepared come last',
  (t) => {
    const conditions = { bindingConditions: ['Attached'], bindingFailureConditions: ['Broken'] }
    const slices = [
      slice([nic('of-q', {}, { bindsToNode: true })], 's2', 'q', {
        nodeName: undefined,
        allNodes: true,
      }),
      slice([nic('slow', {}, conditions)], 's1', 'a'),
      slice([nic('first', {})], 's0', 'p'),
    ]
    const three = claim(
      ['x', 'y', 'z'].map((name) => request(name)),
      {
        constraints: [{ distinctAttribute: `${driver}/port` }],
      },
    )
    const found = choose([three], slices)
    t.strictSame(
      found?.map(({ device }) => device),
      ['first', 'of-q', 'slow'],
    )
    t.match(found?.[2], conditions)
    t.end()
  },
)

t.test('a device that binds to its node is for that node only', (t) => {
  const of = (more: object) =>
    allocate([claim([request('r')])], node('n'), {
      pools: poolsOf([
        slice([nic('a', {}, more)], 's', 'p', { nodeName: undefined, allNodes: true }),
      ]),
      classOf: (name) => ({ metadata: storedMetadata({ name }), spec: {} }) as never,
      inUse: devicesInUse([]),
    })?.[0]?.nodeSelector
  t.equal(of({}), undefined)
  t.strictSame(of({ bindsToNode: true }), {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }],
  })
  t.end()
})
