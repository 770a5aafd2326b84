/** Which endpoint stands for a Service that a webhook or an aggregated API names. */
import t from 'tap'
import { findService } from '#admission/find-service.js'
import type { KubeObject } from '#api/object.js'
import type { RequestContext } from '#registry/resource-definition.js'

const slice = (addressType: string, addresses: string[], more: object = {}): KubeObject => ({
  kind: 'EndpointSlice',
  apiVersion: 'discovery.k8s.io/v1',
  metadata: {
    name: addressType,
    namespace: 'x',
    labels: { 'kubernetes.io/service-name': 'hook' },
  },
  addressType,
  endpoints: addresses.map((address) => ({ addresses: [address] })),
  ports: [{ name: 'https', port: 8443 }],
  ...more,
})

/** Of a cluster with this Service and these slices. */
const find = (spec: object, slices: readonly KubeObject[], port?: number) => {
  const metadata = { name: 'hook', namespace: 'x' }
  const service = { kind: 'Service', apiVersion: 'v1', metadata, spec }
  const held: Record<string, KubeObject[]> = { services: [service], endpointslices: [...slices] }
  const stores = ({ resource }: { resource: string }) => ({
    definition: { storagePrefix: `/registry/${resource}` },
    atHand: {
      get: () => ({ object: held[resource]![0] }),
      list: () => held[resource]!.map((object) => ({ object })),
    },
  })
  const context = { stores } as unknown as RequestContext
  return findService(context, { name: 'hook', namespace: 'x', ...(port ? { port } : {}) })
}

const https = { name: 'https', port: 443 }
const both = [slice('IPv4', ['10.0.0.1']), slice('IPv6', ['fd00::1'])]

t.test("the first family of the Service comes first, whatever the slices' order", async (t) => {
  for (const slices of [both, both.toReversed()]) {
    t.equal((await find({ ipFamilies: ['IPv6', 'IPv4'], ports: [https] }, slices)).host, 'fd00::1')
    t.equal((await find({ ipFamilies: ['IPv4', 'IPv6'], ports: [https] }, slices)).host, '10.0.0.1')
  }
})

t.test('each endpoint that is ready, of whichever slice, stands for it as often', async (t) => {
  const slices = [slice('IPv4', ['10.0.0.1', '10.0.0.2']), slice('IPv4', ['10.0.0.3', '10.0.0.4'])]
  const found = new Set<string>()
  // That one is not among them is as likely as 4 times 3/4 to the power of 200.
  for (let i = 0; i < 200; i++) found.add((await find({ ports: [https] }, slices)).host)
  t.same([...found].sort(), ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'])
})

t.test('another family serves where the first has no endpoint that is ready', async (t) => {
  const unready = { endpoints: [{ addresses: ['fd00::1'], conditions: { ready: false } }] }
  const slices = [slice('IPv6', [], unready), slice('IPv4', ['10.0.0.1'])]
  const found = await find({ ipFamilies: ['IPv6', 'IPv4'], ports: [https] }, slices)
  t.same(found, { host: '10.0.0.1', port: 8443 }, 'at the port of the slice')
})

t.test('ports are those that the Service gives a name', async (t) => {
  const ports = [
    { name: 'metrics', port: 9090 },
    { name: 'https', port: 443 },
  ]
  const served = slice('IPv4', ['10.0.0.1'], {
    ports: [
      { name: 'metrics', port: 90 },
      { name: 'https', port: 8443 },
    ],
  })
  t.equal((await find({ ports }, [served])).port, 8443)
  t.equal((await find({ ports }, [served], 9090)).port, 90)
  await t.rejects(find({ ports }, [served], 1), {
    message: 'no service port 1 found for service "hook"',
  })
})

t.test('slices of others, and of nobody, are no endpoints', async (t) => {
  const others = slice('IPv4', ['10.0.0.1'], { metadata: { name: 's', namespace: 'x' } })
  await t.rejects(find({ ports: [https] }, [others]), {
    message: 'no endpoints available for service "hook"',
  })
})
