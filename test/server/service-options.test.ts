/** Ranges, ports and lifetimes that the options give Services, Pods and Events; the texts are those of kube-apiserver v1.36.3. */
import t from 'tap'
import type { Server } from '#src/index.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

const services = '/api/v1/namespaces/default/services'
const kubernetes = `${services}/kubernetes`
const ports = [{ port: 80 }]

const post = (server: Server, path: string, body: object) =>
  call(server, { method: 'POST', path, body })

t.test('node ports are of the range that is given, until it is full', async (t) => {
  const server = await startServer(t, {
    serviceNodePortRange: '30000+2',
    kubernetesServiceNodePort: 30_001,
    externalHostname: 'api.example.com',
    endpointReconcilerType: 'none',
  })
  const own = (await call(server, { path: kubernetes })).body
  t.match(own.spec, { type: 'NodePort', ports: [{ port: 443, nodePort: 30_001 }] })
  t.equal(
    (await call(server, { path: '/api/v1/namespaces/default/endpoints/kubernetes' })).status,
    404,
  )
  const make = (name: string, spec: object) => post(server, services, { metadata: { name }, spec })
  const made = [
    await make('a', { type: 'NodePort', ports }),
    await make('b', { type: 'NodePort', ports }),
  ]
  t.same(made.map(({ body }) => body.spec.ports[0].nodePort).sort(), [30_000, 30_002])
  t.match(await make('c', { type: 'NodePort', ports }), {
    status: 500,
    body: { message: 'Internal error occurred: failed to allocate a nodePort: range is full' },
  })
  const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports }
  t.equal((await make('d', local)).status, 500)
  const [{ message }] = (
    await make('e', { type: 'NodePort', ports: [{ port: 80, nodePort: 31_000 }] })
  ).body.details.causes
  t.equal(
    message,
    'Invalid value: 31000: provided port is not in the valid range. The range of valid ports is 30000-30002',
  )
  const { body } = await call(server, { path: '/.well-known/openid-configuration' })
  const { port } = new URL(server.url)
  t.equal(body.jwks_uri, `https://api.example.com:${port}/openid/v1/jwks`)
  const versions = (await call(server, { path: '/api' })).body
  t.equal(versions.serverAddressByClientCIDRs[0].serverAddress, `api.example.com:${port}`)
})

t.test(
  'that the default range is ready is said by the manager that says it upstream',
  async (t) => {
    const server = await startServer(t, {})
    const path = '/apis/networking.k8s.io/v1/servicecidrs/kubernetes'
    const { metadata, status } = (await call(server, { path })).body
    t.match(status.conditions, [{ type: 'Ready', status: 'True', reason: '' }])
    const owned = metadata.managedFields.map((entry: Record<string, string>) => [
      ...[entry.manager, entry.operation, entry.subresource],
    ])
    t.same(owned.sort(), [
      ['kube-apiserver', 'Update', undefined],
      ['kubernetes-service-cidr-controller', 'Apply', 'status'],
    ])
  },
)

t.test('the lower part of a range is left to clients that ask for a port', async (t) => {
  const server = await startServer(t, { serviceNodePortRange: '30000-30019' })
  const taken: number[] = []
  for (let i = 0; i < 5; i++) {
    const spec = { type: 'NodePort', ports }
    const { body } = await post(server, services, { metadata: { name: `s${i}` }, spec })
    taken.push(body.spec.ports[0].nodePort)
  }
  t.same(taken.slice(0, 4).sort(), [30_016, 30_017, 30_018, 30_019])
  t.ok(taken[4]! < 30_016, 'as long as there is room')
})

t.test('a range of one family becomes one of both at the next start', async (t) => {
  const storage = `level:${t.testdir()}/db`
  const first = await createServer({ storage, logLevel: 'silent' })
  await first.close()
  const server = await startServer(t, { storage, serviceClusterIpRange: '10.0.0.0/24,fd00::/112' })
  const { body } = await call(server, {
    path: '/apis/networking.k8s.io/v1/servicecidrs/kubernetes',
  })
  t.same(body.spec.cidrs, ['10.0.0.0/24', 'fd00::/112'])
  const spec = { ipFamilyPolicy: 'RequireDualStack', ports }
  const made = (await post(server, services, { metadata: { name: 'both' }, spec })).body
  t.same(made.spec.ipFamilies, ['IPv4', 'IPv6'])
})

t.test('ranges that cannot be are refused in the words of kube-apiserver', async (t) => {
  const refusals: [object, string][] = [
    [
      { serviceClusterIpRange: '10.0.0.0/24,garbage' },
      'service-cluster-ip-range[1] is not an ip net',
    ],
    [
      { serviceClusterIpRange: '10.0.0.0/24,10.1.0.0/24' },
      '--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family',
    ],
    [
      { serviceClusterIpRange: '10.0.0.0/24,fd00::/112,fd01::/112' },
      '--service-cluster-ip-range must not contain more than two entries',
    ],
    [
      { serviceClusterIpRange: '10.0.0.0/31' },
      'error determining service IP ranges for primary service cidr: the service cluster IP range must be at least 8 IP addresses',
    ],
    [
      { serviceClusterIpRange: 'fd00::/112', advertiseAddress: '10.1.2.3' },
      'service IP family "fd00::/112" must match public address family "10.1.2.3"',
    ],
    [{ serviceNodePortRange: 'abc' }, 'strconv.Atoi: parsing "abc": invalid syntax'],
    [
      { serviceNodePortRange: '40000-30000' },
      'end port cannot be less than start port: 40000-30000',
    ],
    [
      { serviceNodePortRange: '30000-70000' },
      'the port range cannot be greater than 65535: 30000-70000',
    ],
    [
      { kubernetesServiceNodePort: 40_000 },
      "kubernetes service node port range 30000-32767 doesn't contain 40000",
    ],
  ]
  for (const [options, message] of refusals) await t.rejects(createServer(options), { message })
})

t.test('the keys of tokens are where they are said to be', async (t) => {
  const serviceAccountJwksUri = 'https://keys.example.com/jwks'
  const server = await startServer(t, { serviceAccountJwksUri })
  const { body } = await call(server, { path: '/.well-known/openid-configuration' })
  t.equal(body.jwks_uri, serviceAccountJwksUri)
})

t.test("a key of tokens has its members in upstream's order", async (t) => {
  const server = await startServer(t)
  const { body } = await call(server, { path: '/openid/v1/jwks' })
  t.same(Object.keys(body.keys[0]), ['use', 'kty', 'kid', 'alg', 'n', 'e'])
})

t.test('others find the server where it says', async (t) => {
  const server = await startServer(t, { advertiseAddress: '10.1.2.3' })
  const { body } = await call(server, { path: '/api/v1/namespaces/default/endpoints/kubernetes' })
  t.same(body.subsets[0].addresses, [{ ip: '10.1.2.3' }])
})

t.test(
  'Pods stay on a lost node for as long as they are told, Events for as long as they live',
  async (t) => {
    const server = await startServer(t, {
      defaultNotReadyTolerationSeconds: 7,
      defaultUnreachableTolerationSeconds: -1,
      eventTtlMs: 2_000,
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    const pod = await post(server, '/api/v1/namespaces/default/pods', {
      metadata: { name: 'p' },
      spec,
    })
    const seconds = pod.body.spec.tolerations.map(
      (one: Record<string, unknown>) => one.tolerationSeconds,
    )
    t.same(seconds, [7, -1])
    const events = '/api/v1/namespaces/default/events'
    const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'default' } }
    t.equal((await post(server, events, event)).status, 201)
    await eventually(
      'the Event goes',
      async () => (await call(server, { path: `${events}/e` })).status === 404,
    )
  },
)
