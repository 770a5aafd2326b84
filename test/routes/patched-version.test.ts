/** Documents whose patch says that they are of another version. */
import t, { type Test } from 'tap'
import { startApiServer } from './api-server.js'

const scalers = '/apis/autoscaling/v2/namespaces/x/horizontalpodautoscalers'
const apps = '/apis/apps/v1/namespaces/x'
const metadata = { name: 'a' }
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
const template = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}
const spec = { selector: { matchLabels: { app: 'a' } }, template }

const start = async (t: Test) => {
  const { api } = await startApiServer(t)
  const memory = {
    type: 'Resource',
    resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 60 } },
  }
  await api.post(scalers, { metadata, spec: { maxReplicas: 4, scaleTargetRef, metrics: [memory] } })
  for (const resource of ['deployments', 'daemonsets'])
    await api.post(`${apps}/${resource}`, { metadata, spec })
  return api
}

t.test('a document in another served version is read in it and converted', async (t) => {
  const api = await start(t)
  const { code, body } = await api.merge(`${scalers}/a`, {
    apiVersion: 'autoscaling/v1',
    spec: { targetCPUUtilizationPercentage: 50 },
  })
  t.equal(code, 200, body.message)
  t.equal(body.apiVersion, 'autoscaling/v2')
  t.same(
    body.spec.metrics,
    [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
      },
    ],
    'version 1 has no metrics',
  )
  const none = await api.merge(`${scalers}/a`, {
    apiVersion: 'autoscaling/v1',
    spec: { targetCPUUtilizationPercentage: null },
  })
  t.equal(none.body.spec.metrics[0].resource.target.averageUtilization, 80, 'the default')
})

t.test('a document in a version that is no longer served is read with its defaults', async (t) => {
  const api = await start(t)
  const say = (resource: string, apiVersion: string) =>
    api.merge(`${apps}/${resource}/a`, { apiVersion })
  const unlabelled = await say('deployments', 'apps/v1beta2')
  t.equal(unlabelled.code, 200, unlabelled.body.message)
  t.equal(unlabelled.body.metadata.labels, undefined)
  const { body } = await say('deployments', 'apps/v1beta1')
  t.equal(body.apiVersion, 'apps/v1')
  t.same(body.metadata.labels, { app: 'a' }, 'labels are those of the template')
  t.same((await say('daemonsets', 'extensions/v1beta1')).body.metadata.labels, { app: 'a' })
  t.match(
    (await say('daemonsets', 'apps/v1beta1')).body.message,
    'no kind "DaemonSet" is registered',
  )
  t.match((await say('deployments', 'apps/v2')).body.message, 'no kind "Deployment" is registered')
})

t.test('a document in another version is of its own kind, or of none that it names', async (t) => {
  const api = await start(t)
  const say = (given: object) => api.merge(`${scalers}/a`, given)
  const apiVersion = 'autoscaling/v1'
  for (const kind of ['', null]) t.equal((await say({ apiVersion, kind })).code, 200)
  const noKind = 'no kind "Foo" is registered for version "autoscaling/v1"'
  t.match((await say({ apiVersion, kind: 'Foo' })).body.message, noKind)
  const wrongType = (field: string) =>
    `cannot unmarshal number into Go struct field .${field} of type string`
  t.match((await say({ apiVersion, kind: 7 })).body.message, wrongType('kind'))
  t.match((await say({ apiVersion: 7, kind: 7 })).body.message, wrongType('apiVersion'))
})

t.test(
  'a body in another version is refused, one in no version of the kind in other words',
  async (t) => {
    const api = await start(t)
    const post = async (resource: string, apiVersion: string) =>
      (await api.post(`${apps}/${resource}`, { apiVersion, metadata, spec })).body.message
    t.match(await post('deployments', 'apps/v1beta1'), 'does not match the expected API version')
    t.match(await post('daemonsets', 'apps/v1beta1'), 'no kind "DaemonSet" is registered')
  },
)

t.test('a configuration that does not fit the Go type is named as it names itself', async (t) => {
  const api = await start(t)
  const say = async (given: object) => {
    const { body } = await api.send('PATCH', '/api/v1/namespaces/x/configmaps/a?fieldManager=m', {
      body: { apiVersion: 'v1', kind: 'ConfigMap', binaryData: { a: '*' }, ...given },
      type: 'application/apply-patch+yaml',
    })
    return body.message
  }
  t.match(await say({}), 'failed to convert new object (/; /v1, Kind=ConfigMap)')
  t.match(await say({ metadata }), 'failed to convert new object (/a; /v1, Kind=ConfigMap)')
})
