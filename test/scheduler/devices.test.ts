/** Which devices claims get on a node, as kube-scheduler 1.36 chooses them. */
import t from 'tap'
import type { Allocation, DeviceRequest, ResourceClaim } from '#client/resource-claim.js'
import type { Device, ResourceSlice } from '#client/resource-slice.js'
import { allocate } from '#scheduler/devices/allocate.js'
import { deviceId, poolsOf } from '#scheduler/devices/pools.js'
import { storedMetadata } from '../stored-metadata.js'
import { node } from './small-cluster.js'

const driver = 'gpu.example.com'

const slice = (
  devices: Device[],
  { name = 's', generation = 1, resourceSliceCount = 1, ...spec }: Record<string, unknown> = {},
) =>
  ({
    metadata: storedMetadata({ name: name as string }),
    spec: {
      driver,
      nodeName: 'n',
      pool: { name: 'p', generation, resourceSliceCount },
      devices,
      ...spec,
    },
  }) as unknown as ResourceSlice

/** With the model and size of each as attributes of its driver. */
const gpu = (name: string, model = 'a', memory = '8Gi', more: Partial<Device> = {}): Device => ({
  name,
  attributes: { model: { string: model }, 'example.com/rack': { int: 1 } },
  capacity: { memory: { value: memory } },
  ...more,
})

const claim = (
  requests: (Partial<DeviceRequest['exactly']> & { name?: string; firstAvailable?: object[] })[],
  devices: object = {},
) =>
  ({
    metadata: storedMetadata({ name: 'c' }),
    spec: {
      devices: {
        requests: requests.map(({ name = 'r', firstAvailable, ...asked }) =>
          firstAvailable === undefined
            ? { name, exactly: { deviceClassName: 'gpu', ...asked } }
            : { name, firstAvailable },
        ),
        ...devices,
      },
    },
  }) as unknown as ResourceClaim

const cel = (expression: string) => ({ selectors: [{ cel: { expression } }] })

const classes: Record<string, object> = {
  gpu: { ...cel(`device.driver == '${driver}'`), config: [{ opaque: { driver } }] },
  large: cel(
    `device.capacity['${driver}'].memory.compareTo(quantity('16Gi')) >= 0 && !('x' in device.attributes['none.io']) && !('none.io' in device.attributes)`,
  ),
}

interface Situation {
  inUse?: string[]
  on?: string
}

const allocateAll = (
  claims: ResourceClaim[],
  slices: ResourceSlice[],
  { inUse = [], on = 'n' }: Situation = {},
): Allocation[] | undefined =>
  allocate(claims, node(on, { labels: { zone: 'z' } }), {
    pools: poolsOf(slices),
    classOf: (name) => ({ metadata: storedMetadata({ name }), spec: classes[name]! }) as never,
    inUse: { whole: new Set(inUse.map((name) => deviceId(driver, 'p', name))), shared: new Map() },
  })

const namesIn = (allocation: Allocation | undefined): string =>
  (allocation?.devices.results ?? []).map(({ request, device }) => `${request}:${device}`).join(' ')

/** The devices by request; undefined when there are none. */
const choose = (
  asked: ResourceClaim,
  slices: ResourceSlice[],
  situation?: Situation,
): string | undefined => {
  const found = allocateAll([asked], slices, situation)
  return found && namesIn(found[0])
}

t.test('the first free devices that class and request select are taken', (t) => {
  const slices = [slice([gpu('g0'), gpu('g1', 'b', '16Gi'), gpu('g2', 'b', '32Gi')])]
  t.equal(choose(claim([{}]), slices), 'r:g0')
  t.equal(choose(claim([{ count: 2 }]), slices), 'r:g0 r:g1')
  t.equal(choose(claim([{ count: 4 }]), slices), undefined)
  t.equal(choose(claim([{}]), slices, { inUse: ['g0'] }), 'r:g1')
  t.equal(choose(claim([{}]), slices, { on: 'other' }), undefined, 'another node')
  t.equal(choose(claim([{ deviceClassName: 'large', count: 2 }]), slices), 'r:g1 r:g2')
  const model = cel(`device.attributes['${driver}'].model == 'b'`)
  t.equal(choose(claim([{ ...model }]), slices), 'r:g1')
  t.equal(
    choose(claim([{ name: 'any' }, { name: 'b', ...model, count: 2 }]), slices),
    'any:g0 b:g1 b:g2',
  )
  t.end()
})

t.test('a choice that leaves nothing for a later request is taken back', (t) => {
  const slices = [slice([gpu('g0', 'b'), gpu('g1')])]
  const onlyB = cel(`device.attributes['${driver}'].model == 'b'`)
  t.equal(choose(claim([{ name: 'any' }, { name: 'b', ...onlyB }]), slices), 'any:g1 b:g0')
  const two = [claim([{ name: 'any' }]), claim([{ name: 'b', ...onlyB }])]
  t.strictSame(allocateAll(two, slices)?.map(namesIn), ['any:g1', 'b:g0'], 'also between claims')
  t.end()
})

t.test('constraints hold between devices', (t) => {
  const slices = [slice([gpu('g0'), gpu('g1', 'b'), gpu('g2', 'b'), gpu('g3', 'c')])]
  const same = { constraints: [{ matchAttribute: `${driver}/model` }] }
  t.equal(choose(claim([{ count: 2 }], same), slices), 'r:g1 r:g2')
  t.equal(choose(claim([{ count: 3 }], same), slices), undefined)
  const others = [{ name: 'x' }, { name: 'y' }, { name: 'z' }]
  const ofTwo = { constraints: [{ requests: ['x', 'y'], matchAttribute: `${driver}/model` }] }
  t.equal(choose(claim(others, ofTwo), slices), 'x:g1 y:g2 z:g0')
  const distinct = { constraints: [{ distinctAttribute: `${driver}/model` }] }
  t.equal(choose(claim([{ count: 3 }], distinct), slices), 'r:g0 r:g1 r:g3')
  const twice = [slice([gpu('g0', 'b'), gpu('g1', 'c'), gpu('g2', 'b')])]
  t.equal(choose(claim([{ count: 3 }], distinct), twice), 'r:g0 r:g1 r:g2', 'from the one before')
  t.equal(choose(claim(others, distinct), twice), undefined)
  const missing = { constraints: [{ matchAttribute: 'example.com/none' }] }
  t.equal(choose(claim([{}], missing), slices), undefined)
  t.end()
})

t.test('of alternatives the first that is available counts', (t) => {
  const firstAvailable = [
    { name: 'big', deviceClassName: 'large', count: 2 },
    { name: 'small', deviceClassName: 'gpu', count: 1 },
  ]
  const asked = claim([{ firstAvailable }], { config: [{ requests: ['r/small'], opaque: {} }] })
  const big = [gpu('g0', 'a', '16Gi'), gpu('g1', 'a', '16Gi')]
  t.equal(choose(asked, [slice([gpu('g'), ...big])]), 'r/big:g0 r/big:g1')
  const [small] = allocateAll([asked], [slice([gpu('g'), big[0]!])])!
  t.equal(namesIn(small), 'r/small:g')
  t.strictSame(small!.devices.config, [
    { source: 'FromClass', opaque: { driver }, requests: ['r/small'] },
    { source: 'FromClaim', requests: ['r/small'], opaque: {} },
  ])
  t.end()
})

t.test('all means all, and needs to know them', (t) => {
  const all = claim([{ allocationMode: 'All' }])
  const devices = [gpu('g0'), gpu('g1')]
  t.equal(choose(all, [slice(devices)]), 'r:g0 r:g1')
  t.equal(choose(all, [slice(devices)], { inUse: ['g1'] }), undefined)
  t.equal(choose(all, [slice([])]), undefined, 'at least one')
  const partly = [slice(devices, { resourceSliceCount: 2 })]
  t.throws(
    () => choose(all, partly),
    /claim ns\/c, request r: asks for all devices, but resource pool gpu.example.com\/p is currently being updated/,
  )
  t.equal(choose(claim([{}]), partly), undefined, 'nothing is taken of a pool that is not complete')
  const next = slice([gpu('new')], { name: 't', generation: 2 })
  t.equal(choose(all, [slice(devices), next]), 'r:new', 'the newest generation counts')
  t.end()
})

t.test('alternatives that make the claim too large are left out at once', (t) => {
  const slices = [slice(Array.from({ length: 40 }, (_, i) => gpu(`g${i}`)))]
  const firstAvailable = [
    { name: 'many', deviceClassName: 'gpu', count: 20 },
    { name: 'few', deviceClassName: 'gpu', count: 12 },
  ]
  const found = choose(claim([{ firstAvailable }, { name: 'rest', count: 20 }]), slices)
  t.equal(found?.split(' ').filter((one) => one.startsWith('r/few:')).length, 12)
  t.end()
})

t.test('an old generation counts where all of it is seen, and nothing of the new one', (t) => {
  const old = slice([gpu('old')])
  const part = { name: 'new', generation: 2, resourceSliceCount: 2, nodeName: 'other' }
  t.equal(choose(claim([{}]), [old, slice([gpu('new')], part)]), 'r:old')
  t.equal(choose(claim([{}]), [old, slice([gpu('new')], { ...part, nodeName: 'n' })]), undefined)
  const half = slice([gpu('old')], { resourceSliceCount: 2 })
  t.equal(choose(claim([{}]), [half, slice([gpu('new')], part)]), undefined)
  t.end()
})

t.test('taints keep off whoever does not tolerate them; administrators share', (t) => {
  const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' }]
  const slices = [slice([gpu('g0', 'a', '8Gi', { taints })])]
  t.equal(choose(claim([{}]), slices), undefined)
  const tolerations = [{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }]
  const [tolerant] = allocateAll([claim([{ tolerations }])], slices)!
  t.strictSame(tolerant!.devices.results, [
    { request: 'r', driver, pool: 'p', device: 'g0', tolerations },
  ])
  const mild = [slice([gpu('g0', 'a', '8Gi', { taints: [{ key: 'k', effect: 'None' }] })])]
  t.equal(choose(claim([{}]), mild), 'r:g0')
  const [admin] = allocateAll([claim([{ adminAccess: true }])], mild, { inUse: ['g0'] })!
  t.match(admin!.devices.results, [{ device: 'g0', adminAccess: true }])
  t.equal(choose(claim([{ adminAccess: true, count: 2 }]), mild), undefined, 'once in a claim')
  t.end()
})

t.test('partitions share the counters of their device', (t) => {
  const part = (name: string, memory: string) =>
    gpu(name, 'a', memory, {
      consumesCounters: [{ counterSet: 'gpu0', counters: { memory: { value: memory } } }],
    })
  const counters = slice([], {
    name: 'counters',
    resourceSliceCount: 2,
    devices: undefined,
    sharedCounters: [{ name: 'gpu0', counters: { memory: { value: '40Gi' } } }],
  })
  const devices = [part('half0', '20Gi'), part('half1', '20Gi'), part('whole', '40Gi')]
  const slices = [counters, slice(devices, { resourceSliceCount: 2 })]
  t.equal(choose(claim([{ count: 2 }]), slices), 'r:half0 r:half1')
  t.equal(choose(claim([{ count: 3 }]), slices), undefined)
  t.equal(choose(claim([{}]), slices, { inUse: ['whole'] }), undefined)
  t.equal(choose(claim([{}]), slices, { inUse: ['half0'] }), 'r:half1')
  t.throws(
    () => choose(claim([{}]), [slice(devices)]),
    /invalid resource pools/,
    'there are no counters',
  )
  t.end()
})

t.test('an allocation says from where its devices can be used', (t) => {
  const where = (spec: object, devices = [gpu('g0')]) =>
    allocateAll([claim([{}])], [slice(devices, { nodeName: undefined, ...spec })])?.[0]
  const term = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['z'] }] }
  const nodeSelector = { nodeSelectorTerms: [term] }
  t.strictSame(where({ nodeName: 'n' })?.nodeSelector, {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }],
  })
  t.strictSame(where({ nodeSelector })?.nodeSelector, nodeSelector)
  t.equal(where({ allNodes: true })?.nodeSelector, undefined)
  const each = [
    gpu('far', 'a', '8Gi', { nodeName: 'm' }),
    gpu('near', 'a', '8Gi', { nodeSelector }),
  ]
  const perDevice = where({ perDeviceNodeSelection: true }, each)
  t.equal(namesIn(perDevice), 'r:near')
  t.strictSame(perDevice?.nodeSelector, nodeSelector)
  t.end()
})

t.test('a selector that fails says so', (t) => {
  const slices = [slice([gpu('g0')])]
  const fails = (expression: string) => () => choose(claim([cel(expression)]), slices)
  t.throws(
    fails(`device.attributes['${driver}'].none == 'x'`),
    /claim ns\/c: selector #0: CEL runtime error: no such key: none/,
  )
  t.throws(fails('device.'), /claim ns\/c: selector #0: CEL compile error: compilation failed/)
  t.throws(fails(`device.attributes['${driver}'].model`), /could not be converted to bool/)
  t.end()
})
