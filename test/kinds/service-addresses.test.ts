import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { NodePorts } from '#kinds/core/node-ports.js'
import { serviceAllocation } from '#kinds/core/service-allocation.js'
import { repairAddresses } from '#kinds/core/service-repair.js'
import { kinds } from '#kinds/index.js'
import { listAll } from '#registry/list-all.js'
import { familyOf } from '#validation/network.js'
import { startApiInMemory } from './api-in-memory.js'

/** As in a server that was started with these ranges. */
const kindsWith = (cidrs: readonly string[]) => {
  const nodePorts = new NodePorts({ first: 30_000, last: 32_767 })
  const families = cidrs.map((cidr) => familyOf(cidr.split('/')[0]!))
  return kinds.map((kind) =>
    kind.kind === 'Service'
      ? { ...kind, strategy: { ...kind.strategy, ...serviceAllocation({ nodePorts, families }) } }
      : kind,
  )
}

const start = async (
  t: { teardown(f: () => Promise<void>): void },
  ...[first = '10.0.0.0/24', ...others]: string[]
) => {
  const cidrs = [first, ...others]
  const api = await startApiInMemory(undefined, undefined, kindsWith(cidrs))
  t.teardown(() => api.close())
  await api.create('networking.k8s.io/v1/servicecidrs', {
    metadata: { name: 'kubernetes' },
    spec: { cidrs },
  })
  const addresses = async (): Promise<string[]> => {
    const page = await listAll(api.store('networking.k8s.io', 'ipaddresses'))
    return page.items.map((item) => item.object.metadata.name!)
  }
  const create = (name: string, spec: object, call = {}) =>
    api.create('v1/services', { metadata: { name }, spec }, { namespace: 'a', ...call })
  return { api, addresses, create }
}
const ports = [{ port: 80 }]

t.test('concurrent creates never share an address or a node port', async (t) => {
  const { create, addresses } = await start(t)
  const made = await Promise.all(
    Array.from({ length: 40 }, (_, i) => create(`s${i}`, { type: 'NodePort', ports })),
  )
  t.ok(made.every((m) => m.code === 201))
  t.equal(new Set(made.map((m) => m.body.spec.clusterIP)).size, 40)
  t.equal(new Set(made.map((m) => m.body.spec.ports[0].nodePort)).size, 40)
  t.same((await addresses()).sort(), made.map((m) => m.body.spec.clusterIP).sort())
})

t.test('a full range is a 500, and a delete makes room again', async (t) => {
  const { api, create, addresses } = await start(t, '10.9.9.0/29')
  for (let i = 0; i < 6; i++) t.equal((await create(`s${i}`, { ports })).code, 201)
  const refused = await create('more', { ports })
  t.match(refused, {
    code: 500,
    body: {
      message: /failed to allocate a serviceIP for Service \\?"[a-z0-9-]+\\?": range is full/,
    },
  })
  await api.delete('v1/services', 's3', { namespace: 'a' })
  t.equal((await addresses()).length, 5)
  t.equal((await create('more', { ports })).code, 201)
})

t.test('what a refused create took is given back, and a dry run takes nothing', async (t) => {
  const { create, addresses } = await start(t)
  t.equal((await create('bad', { ports: [{ port: 0 }] })).code, 422)
  t.equal((await create('dry', { ports }, { dryRun: true })).code, 201)
  t.same(await addresses(), [])
  t.equal((await create('x', { clusterIP: '10.0.0.7', ports })).code, 201)
  t.match((await create('y', { clusterIP: '10.0.0.7', ports })).body.message, /already allocated/)
  t.same(await addresses(), ['10.0.0.7'])
})

t.test('what an update asks for that removes its object is given back', async (t) => {
  const { api, create, addresses } = await start(t)
  const metadata = { name: 's', finalizers: ['a.io/b'] }
  await api.create('v1/services', { metadata, spec: { ports } }, { namespace: 'a' })
  await api.delete('v1/services', 's', { namespace: 'a' })
  const asked = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_500 }] }
  const removed = await api.replace(
    'v1/services',
    's',
    (s) => {
      delete s.metadata.finalizers
      Object.assign(s.spec, asked)
    },
    { namespace: 'a' },
  )
  t.equal(removed.code, 200)
  t.same(await addresses(), [])
  t.equal((await create('next', asked)).code, 201)
})

t.test('a change of type gives and takes addresses and ports', async (t) => {
  const { api, create, addresses } = await start(t)
  await create('s', { ports })
  const change = (spec: object) =>
    api.replace('v1/services', 's', (s) => Object.assign(s.spec, spec), { namespace: 'a' })
  const nodePort = await change({ type: 'NodePort' })
  t.ok(nodePort.body.spec.ports[0].nodePort >= 30_000)
  const back = await change({ type: 'ClusterIP' })
  t.notOk(back.body.spec.ports[0].nodePort)
  await change({
    type: 'NodePort',
    ports: [
      { name: 'a', port: 1 },
      { name: 'b', port: 2 },
    ],
  })
  const fewer = await api.replace(
    'v1/services',
    's',
    ({ spec }) => Object.assign(spec, { type: 'ClusterIP', ports: spec.ports.slice(0, 1) }),
    { namespace: 'a' },
  )
  t.match(fewer, { code: 200, body: { spec: { ports: [{ nodePort: undefined }] } } })
  const named = await change({ type: 'ExternalName', externalName: 'a.example' })
  t.notHas(named.body.spec, { clusterIP: /./, internalTrafficPolicy: /./ })
  t.match(await change({ internalTrafficPolicy: 'Bad' }), { code: 422 }, 'read, though dropped')
  t.same(await addresses(), [])
  await change({ type: 'ClusterIP' })
  t.equal((await addresses()).length, 1)
  t.match(await change({ clusterIP: 'None', clusterIPs: ['None'] }), {
    code: 422,
    body: { details: { causes: [{ field: 'spec.clusterIPs[0]' }] } },
  })
})

t.test('an update that wants no node ports of a load balancer gives them up', async (t) => {
  const { api, create } = await start(t)
  const type = 'LoadBalancer'
  const made = await create('lb', { type, ports })
  const [{ nodePort }] = made.body.spec.ports
  t.ok(nodePort)
  const noPorts = (service: KubeObject) => {
    service.spec.allocateLoadBalancerNodePorts = false
    service.spec.ports = ports
  }
  const changed = await api.replace('v1/services', 'lb', noPorts, { namespace: 'a' })
  t.notOk('nodePort' in changed.body.spec.ports[0])
  const other = await create('other', { type: 'NodePort', ports: [{ port: 80, nodePort }] })
  t.equal(other.code, 201, 'another service may have it')
})

t.test(
  'a port of health checks that cannot be had is a 500; a dry run asks for no range',
  async (t) => {
    const { api, create } = await start(t)
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports }
    const message = (port: number, why: string): string =>
      `Internal error occurred: failed to allocate requested HealthCheck NodePort ${port}: ${why}`
    t.match(await create('a', { ...local, healthCheckNodePort: 30 }), {
      code: 500,
      body: {
        message: message(
          30,
          'provided port is not in the valid range. The range of valid ports is 30000-32767',
        ),
      },
    })
    const { healthCheckNodePort } = (await create('a', local)).body.spec
    t.match(await create('b', { ...local, healthCheckNodePort }), {
      code: 500,
      body: { message: message(healthCheckNodePort, 'provided port is already allocated') },
    })
    // What is made by way of its status is not allocated, so that its port may be outside of the range.
    const stored = { namespace: 'a', subresource: 'status' }
    const odd = { ...local, healthCheckNodePort: 30 }
    t.equal(
      (await api.create('v1/services', { metadata: { name: 'c' }, spec: odd }, stored)).code,
      201,
    )
    t.equal((await create('d', odd, { dryRun: true })).code, 201)
  },
)

t.test(
  'a port that is no port is refused as one that cannot be had, on its own field',
  async (t) => {
    const { create } = await start(t)
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 1 }
    const answer = await create('a', { ...local, ports: [{ port: 80, nodePort: -1 }] })
    t.match(answer.body.details.causes, [{ field: 'spec.ports[0].nodePort' }])
    t.equal(answer.body.details.causes.length, 1)
  },
)

t.test('a port of health checks that may not change is told of with all else', async (t) => {
  const { api, create } = await start(t)
  await create('a', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports })
  const change = ({ spec }: KubeObject) => {
    spec.healthCheckNodePort++
    spec.ports = []
  }
  const { body } = await api.replace('v1/services', 'a', change, { namespace: 'a' })
  t.match(body.details.causes, [
    { field: 'spec.healthCheckNodePort', message: 'Forbidden: field is immutable' },
    { field: 'spec.ports', message: 'Required value' },
  ])
})

t.test('an update that gives two ports one node port is a 500 that says so', async (t) => {
  const { api, create } = await start(t)
  const made = await create('a', { type: 'NodePort', ports: [{ name: 'a', port: 80 }] })
  const [{ nodePort }] = made.body.spec.ports
  const withProtocol = (protocol: string) => (service: KubeObject) => {
    service.spec.ports.push({ name: 'b', port: 81, protocol, nodePort })
  }
  const change = (protocol: string) =>
    api.replace('v1/services', 'a', withProtocol(protocol), { namespace: 'a' })
  const refused = await change('TCP')
  t.equal(refused.code, 500)
  t.equal(refused.body.message, `duplicate nodePort: {TCP ${nodePort}}`)
  t.equal((await change('UDP')).code, 200, 'of another protocol it is another port')
})

t.test('a second address comes with its family, and does not change', async (t) => {
  const { api, create, addresses } = await start(t, '10.0.0.0/24', 'fd00::/112')
  const both = { ipFamilyPolicy: 'PreferDualStack', clusterIP: '10.0.0.5', ports }
  await create('a', { ...both, clusterIPs: ['10.0.0.5', 'fd00::5'] })
  await create('b', { clusterIP: '10.0.0.6', ports })
  const change = (name: string, spec: object) =>
    api.replace('v1/services', name, (service) => Object.assign(service.spec, spec), {
      namespace: 'a',
    })
  const second = (ip: string) => ({
    ipFamilyPolicy: 'PreferDualStack',
    clusterIPs: ['10.0.0.6', ip],
  })
  const given = await change('b', second('fd00::6'))
  t.equal(given.code, 200)
  for (const other of ['fd00::5', 'fd00::7', 'fd01::7']) {
    const { code, body } = await change('b', second(other))
    t.equal(code, 422)
    t.match(body.details.causes, [
      { field: 'spec.clusterIPs[1]', message: /may not change once set$/ },
    ])
  }
  t.same((await addresses()).sort(), ['10.0.0.5', '10.0.0.6', 'fd00::5', 'fd00::6'])
})

t.test('a Service that becomes headless and wants a second family is refused', async (t) => {
  const { api, create } = await start(t)
  await create('a', { ports })
  const headless = { clusterIP: 'None', clusterIPs: ['None'], ipFamilyPolicy: 'PreferDualStack' }
  const change = ({ spec }: KubeObject) => Object.assign(spec, headless)
  t.match(await api.replace('v1/services', 'a', change, { namespace: 'a' }), {
    code: 422,
    body: { details: { causes: [{ field: 'spec.clusterIPs[0]' }] } },
  })
})

t.test("what an update may not do to a second address is told in upstream's words", async (t) => {
  const { api, create, addresses } = await start(t, '10.0.0.0/24', 'fd00::/112')
  const dual = { ipFamilyPolicy: 'PreferDualStack', clusterIP: '10.0.0.5', ports }
  const told = ({ body }: { body: { message?: string } }) => body.message?.split(' is invalid: ')[1]
  const outside = await create('a', { ...dual, clusterIP: '10.9.9.9' })
  t.match(told(outside), 'spec.clusterIPs: Invalid value: ["10.9.9.9",""]: failed to allocate')
  await create('a', { ...dual, clusterIPs: ['10.0.0.5', 'fd00::5'] })
  const change = (spec: object) =>
    api.replace('v1/services', 'a', (service) => Object.assign(service.spec, spec), {
      namespace: 'a',
    })
  const one = { clusterIP: 'fd00::7', clusterIPs: ['fd00::7'] }
  t.equal(
    told(await change({ ...one, ipFamilies: ['IPv6', 'IPv4'] })),
    'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be \'SingleStack\' to release the secondary cluster IP',
    'even if the first one has changed',
  )
  const single = { ...one, ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6'] }
  t.equal(
    told(await change(single)),
    '[spec.clusterIPs[0]: Invalid value: ["fd00::7"]: may not change once set, spec.ipFamilies[0]: Invalid value: ["fd00::7"]: may not change once set]',
    'of the families, too, the addresses are shown',
  )
  t.same((await addresses()).sort(), ['10.0.0.5', 'fd00::5'])
})

t.test('a node port that a Service without node ports names is still to be had', async (t) => {
  const { api, create } = await start(t)
  const asked = [{ port: 80, nodePort: 30_005 }]
  const named = await create('named', {
    type: 'ExternalName',
    externalName: 'a.example',
    ports: asked,
  })
  t.equal(named.body.spec.ports[0].nodePort, 30_005)
  t.equal((await create('a', { type: 'NodePort', ports: asked })).code, 201)
  await api.delete('v1/services', 'named', { namespace: 'a' })
  t.match(await create('b', { type: 'NodePort', ports: asked }), {
    code: 422,
    body: { message: /provided port is already allocated/ },
  })
})

t.test('the Endpoints of a Service go with it, as far as they may', async (t) => {
  const { api, create } = await start(t)
  const endpoints = 'v1/endpoints'
  const call = { namespace: 'a' }
  for (const [name, finalizers] of [
    ['plain', []],
    ['held', ['a.io/b']],
  ] as const) {
    await create(name, { ports })
    await api.create(endpoints, { metadata: { name, finalizers } }, call)
    await api.delete('v1/services', name, { ...call, dryRun: true })
  }
  const left = async () =>
    (await listAll(api.store('', 'endpoints'))).items.map(({ object: { metadata } }) => ({
      name: metadata.name,
      ends: metadata.deletionTimestamp !== undefined,
    }))
  t.equal((await left()).filter(({ ends }) => ends).length, 0)
  t.equal((await left()).length, 2, 'a dry run leaves them')
  for (const name of ['plain', 'held'])
    t.equal((await api.delete('v1/services', name, call)).code, 200)
  t.same(await left(), [{ name: 'held', ends: true }])
})

t.test(
  'ServiceCIDRs give addresses of the families that the server was started with',
  async (t) => {
    const { api, create } = await start(t)
    const cidrs = 'networking.k8s.io/v1/servicecidrs'
    const isDual = async (name: string): Promise<boolean> =>
      (await create(name, { ipFamilyPolicy: 'RequireDualStack', ports })).code === 201
    await api.create(cidrs, { metadata: { name: 'other' }, spec: { cidrs: ['fd00:1::/112'] } })
    t.notOk(await isDual('a'))
    await api.replace(cidrs, 'kubernetes', ({ metadata, spec }) => {
      metadata.finalizers = ['a.io/b']
      spec.cidrs = [...spec.cidrs, 'fd00::/112']
    })
    t.notOk(await isDual('b'), 'a family that was added since is none of the cluster')
    t.match(await create('c', { ports }), { code: 201, body: { spec: { ipFamilies: ['IPv4'] } } })
    await api.delete(cidrs, 'kubernetes')
    t.match(
      await create('d', { ports }),
      { code: 500, body: { message: /range is full/ } },
      'nor is that of another one the default when the default one ends',
    )
  },
)

t.test('a ServiceCIDR that is not ready gives no addresses', async (t) => {
  const { api, create } = await start(t)
  const conditions = [{ type: 'Ready', status: 'False', reason: 'Test', message: '' }]
  await api
    .store('networking.k8s.io', 'servicecidrs')
    .changeStored(api.context(), 'kubernetes', (range) => {
      range.status = { conditions }
    })
  t.equal((await create('a', { ports })).code, 500)
})

t.test('a repair leaves an address alone that its Service has in another form', async (t) => {
  const { api, create } = await start(t, 'fd00::/112')
  t.equal((await create('a', { clusterIP: 'FD00::0:7', ports })).code, 201)
  const uids = async () =>
    (await listAll(api.store('networking.k8s.io', 'ipaddresses'))).items.map(
      ({ object: { metadata } }) => [metadata.name, metadata.uid],
    )
  const before = await uids()
  t.match(before, [['fd00::7', /./]])
  const ctx = api.context()
  await repairAddresses({ ...ctx, now: ctx.now + 120_000 })
  t.same(await uids(), before)
})
