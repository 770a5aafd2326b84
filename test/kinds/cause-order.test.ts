/** Where the errors of metadata stand among the others, as kube-apiserver v1.36.3 tells them of each kind. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import type { StatusCause } from '#api/status.js'
import { startApiServer } from '../routes/api-server.js'
import { type Answer, startApiInMemory } from './api-in-memory.js'

const inDefault = { namespace: 'default' }
const fieldsOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  ((body.details?.causes ?? []) as StatusCause[]).map(({ field }) => field!)
const badOwner = { apiVersion: '', kind: 'K', name: 'n', uid: 'u' }
const owner = 'metadata.ownerReferences.apiVersion'

t.test(
  'a ConfigMap that may not change is told of before its metadata is checked again',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(api.close)
    const maps = 'v1/configmaps'
    await api.create(
      maps,
      { metadata: { name: 'a' }, data: { a: '1' }, immutable: true },
      inDefault,
    )
    const change = (map: KubeObject) =>
      Object.assign(map, {
        metadata: { ...map.metadata, ownerReferences: [badOwner] },
        data: { 'a b': '2' },
      })
    t.same(fieldsOf(await api.replace(maps, 'a', change, inDefault)), [
      ...[owner, owner, owner],
      ...['data', owner, 'data[a b]'],
    ])
  },
)

t.test(
  'the status of a StatefulSet is told of before its metadata, and what fell after it',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(api.close)
    const sets = 'apps/v1/statefulsets'
    const labels = { a: 'b' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const spec = { selector: { matchLabels: labels }, template }
    await api.create(sets, { metadata: { name: 'a' }, spec }, inDefault)
    const inStatus = { ...inDefault, subresource: 'status' }
    const count = (set: KubeObject) => Object.assign(set.status, { collisionCount: 2 })
    t.equal((await api.replace(sets, 'a', count, inStatus)).code, 200)
    const change = (set: KubeObject) =>
      Object.assign(set, {
        metadata: { ...set.metadata, ownerReferences: [badOwner] },
        status: { replicas: 1, availableReplicas: -1 },
      })
    t.same(fieldsOf(await api.replace(sets, 'a', change, inStatus)), [
      ...[owner, owner],
      ...['status.availableReplicas', owner, 'status.collisionCount'],
    ])
  },
)

t.test('a new Event of its own group is told what the old rules say first', async (t) => {
  const { api } = await startApiServer(t)
  const event = { metadata: { name: 'A' }, regarding: { namespace: 'y' }, type: 'Normal' }
  const answer = await api.post('/apis/events.k8s.io/v1/namespaces/x/events', event)
  t.same(fieldsOf(answer), ['involvedObject.namespace', 'metadata.name', 'eventTime'])
})

t.test(
  'what is wrong with the counts of a Deployment is told in the order of upstream',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/apis/apps/v1/namespaces/x/deployments'
    const labels = { a: 'b' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const spec = { selector: { matchLabels: labels }, template }
    const { body } = await api.post(path, { metadata: { name: 'a' }, spec })
    const counts = ['updated', 'ready', 'available', 'unavailable', 'terminating']
    const status = Object.fromEntries(counts.map((count) => [`${count}Replicas`, -1]))
    const answer = await api.put(`${path}/a/status`, { ...body, status })
    t.same(
      fieldsOf(answer),
      counts.map((count) => `status.${count}Replicas`),
    )
  },
)

t.test(
  'a request of a claim with a slash in its name is none that can be referred to',
  async (t) => {
    const { api } = await startApiServer(t)
    const requests = [{ name: 'a/b', exactly: { deviceClassName: 'd' } }]
    const constraints = [{ requests: ['a/b'], matchAttribute: 'e.com/x' }]
    const answer = await api.post('/apis/resource.k8s.io/v1/namespaces/x/resourceclaims', {
      metadata: { name: 'a' },
      spec: { devices: { requests, constraints } },
    })
    t.same(fieldsOf(answer), [
      'spec.devices.requests[0].name',
      'spec.devices.constraints[0].requests[0]',
    ])
  },
)

t.test('drivers of a CSINode that change are told of in the order that they had', async (t) => {
  const api = await startApiInMemory()
  t.teardown(api.close)
  const nodes = 'storage.k8s.io/v1/csinodes'
  const driver = (nodeID: string) => (name: string) => ({ name, nodeID })
  const spec = { drivers: ['a', 'b'].map(driver('1')) }
  await api.create(nodes, { metadata: { name: 'n' }, spec })
  const change = (node: KubeObject) =>
    Object.assign(node.spec, { drivers: ['b', 'a'].map(driver('2')) })
  const { body } = await api.replace(nodes, 'n', change)
  t.match(body.details.causes, [{ message: /"Name":"a"/ }, { message: /"Name":"b"/ }])
})

t.test(
  'the name of an API service, which follows from its spec, is told of where names are',
  async (t) => {
    const { api } = await startApiServer(t)
    const metadata = { name: 'a', generateName: 'b', ownerReferences: [badOwner] }
    const spec = { group: 'example.com', version: 'v1' }
    const answer = await api.post('/apis/apiregistration.k8s.io/v1/apiservices', { metadata, spec })
    t.same(fieldsOf(answer).slice(0, 3), ['metadata.generateName', 'metadata.name', owner])
  },
)
