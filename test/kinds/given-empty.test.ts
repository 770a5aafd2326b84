/** What is given as empty: told from nothing until the object is stored, and forgotten then. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { StatusCause } from '#api/status.js'
import { type Answer, startApiInMemory } from './api-in-memory.js'

const causesOf = ({ body }: Answer): string[] =>
  ((body.details?.causes ?? []) as StatusCause[]).map(
    ({ field, message }) => `${field}: ${message}`,
  )

const container = { name: 'c', image: 'i:1' }
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } }
const inDefault = { namespace: 'default' }

t.test('an empty list is not nil to validation, on update too', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const slices = 'resource.k8s.io/v1/resourceslices'
  const spec = {
    driver: 'd.example.com',
    nodeName: 'n',
    pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
    devices: [{ name: 'd' }],
  }
  t.equal((await api.create(slices, { metadata: { name: 'a' }, spec })).code, 201)
  const answer = await api.replace(slices, 'a', (slice) => {
    slice.spec.sharedCounters = []
  })
  t.same(causesOf(answer), [
    'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
  ])
})

t.test('a bound claim may be asked for nothing, but for less than it has', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const claims = 'v1/persistentvolumeclaims'
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await api.create(claims, { metadata: { name: 'a' }, spec }, inDefault)
  const bind = (claim: KubeObject) => (claim.status = { phase: 'Bound' })
  await api.replace(claims, 'a', bind, { ...inDefault, subresource: 'status' })
  const empty = await api.replace(
    claims,
    'a',
    (claim) => (claim.spec.resources.requests = {}),
    inDefault,
  )
  t.same(causesOf(empty), [
    'spec.resources[storage]: Required value',
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ])
})

t.test('it changes no generation where upstream compares semantically', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const generationAfter = async (
    gvr: string,
    spec: object,
    change: Parameters<typeof api.replace>[2],
  ): Promise<number> => {
    const created = await api.create(gvr, { metadata: { name: 'a' }, spec }, inDefault)
    t.equal(created.code, 201, created.body.message)
    return (await api.replace(gvr, 'a', change, inDefault)).body.metadata.generation
  }
  const workload = { selector: { matchLabels: { a: 'b' } }, template }
  t.equal(
    await generationAfter('apps/v1/deployments', workload, ({ spec }) => {
      spec.template.spec.nodeSelector = {}
      spec.template.spec.tolerations = []
    }),
    1,
  )
  const policy = { podSelector: {}, ingress: [{}] }
  t.equal(
    await generationAfter('networking.k8s.io/v1/networkpolicies', policy, ({ spec }) => {
      spec.podSelector = { matchLabels: {} }
    }),
    2,
    'policies are compared as Go compares',
  )
})

t.test('a webhook configuration that is given no webhooks changes each time', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const hooks = 'admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  await api.create(hooks, { metadata: { name: 'a' } })
  const replace = async (webhooks?: object[]): Promise<number> =>
    (await api.replace(hooks, 'a', (object) => Object.assign(object, webhooks && { webhooks })))
      .body.metadata.generation
  t.equal(await replace(), 1)
  t.equal(await replace([]), 2)
  t.equal(await replace([]), 3, 'storage has forgotten that they were given')
})

t.test('what is stored has forgotten it, and has the defaults of nothing', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const capacity = { cpu: '1' }
  const node = await api.create('v1/nodes', {
    metadata: { name: 'a', annotations: {} },
    status: { capacity, allocatable: {} },
  })
  t.same(node.body.status.allocatable, capacity)
  t.notOk('annotations' in node.body.metadata)
  const role = { metadata: { name: 'a' }, rules: [] }
  const roles = 'rbac.authorization.k8s.io/v1/roles'
  t.equal((await api.create(roles, role, inDefault)).body.rules, null)
  const before = (await api.create(roles, { ...role, metadata: { name: 'b' } }, inDefault)).body
  const again = await api.replace(
    roles,
    'b',
    (object) => {
      object.rules = []
    },
    inDefault,
  )
  t.same(again.body, before, 'so that an empty list is no change')
})

t.test('limits that are given as nothing make requests that are', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const spec = { containers: [container] }
  await api.create('v1/pods', { metadata: { name: 'a' }, spec }, inDefault)
  const { body } = await api.replace(
    'v1/pods',
    'a',
    ({ spec }) => {
      spec.hostname = 'h'
      spec.containers[0].resources = { limits: {} }
    },
    inDefault,
  )
  t.match(body.details.causes[0].message, /^\+ +"Limits": \{\},\n\+ +"Requests": \{\},$/m)
})

t.test(
  'what a Pod update may change is not shown as changed when it was given as nothing',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(api.close)
    const containers = [{ name: 'c', image: 'i' }]
    await api.create('v1/pods', { metadata: { name: 'a' }, spec: { containers } }, inDefault)
    const { body } = await api.replace(
      'v1/pods',
      'a',
      ({ spec }) => {
        Object.assign(spec, {
          hostname: 'h',
          schedulingGates: [],
          initContainers: [],
          tolerations: [],
        })
      },
      inDefault,
    )
    const [cause] = body.details.causes
    t.match(cause.message, '+ "Hostname": "h"')
    t.notMatch(cause.message, /SchedulingGates|InitContainers|Tolerations/)
  },
)
