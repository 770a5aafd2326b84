/** What an update without a change writes: nothing, save where storage does not hold what is shown. */
import t from 'tap'
import { startApiServer } from './api-server.js'

const merge = 'application/merge-patch+json'
const claim = {
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
const own = { metadata: { labels: { a: 'b' } }, ...template }

const cases: Record<string, { path: string; body: object; writesFirst: boolean }> = {
  'a claim': {
    path: '/api/v1/namespaces/x/persistentvolumeclaims',
    body: claim,
    writesFirst: true,
  },
  'a Job without labels': {
    path: '/apis/batch/v1/namespaces/x/jobs',
    body: { spec: { template } },
    writesFirst: true,
  },
  'a Job with labels of its own': {
    path: '/apis/batch/v1/namespaces/x/jobs',
    body: { metadata: { labels: { l: 'x' } }, spec: { template } },
    writesFirst: false,
  },
  'a Job with a selector and labels that are its template’s': {
    path: '/apis/batch/v1/namespaces/x/jobs',
    body: {
      spec: { manualSelector: true, selector: { matchLabels: { a: 'b' } }, template: own },
    },
    writesFirst: false,
  },
  'a Job with a selector and no labels': {
    path: '/apis/batch/v1/namespaces/x/jobs',
    body: { spec: { manualSelector: true, selector: {}, template } },
    writesFirst: false,
  },
  'a Job that took labels from its template before it was stored': {
    path: '/apis/batch/v1/namespaces/x/jobs',
    body: { spec: { template: own } },
    writesFirst: false,
  },
  'a ConfigMap': { path: '/api/v1/namespaces/x/configmaps', body: {}, writesFirst: false },
}

t.test('the first update of an object that is completed on every read is a write', async (t) => {
  const { api } = await startApiServer(t)
  for (const [name, { path, body, writesFirst }] of Object.entries(cases)) {
    const made = {
      ...body,
      metadata: { generateName: 'a-', ...('metadata' in body ? (body.metadata as object) : {}) },
    }
    const created = (await api.post(path, made)).body
    const one = `${path}/${created.metadata.name}`
    const patch = () => api.send('PATCH', one, { body: {}, type: merge })
    const first = (await patch()).body
    const { resourceVersion } = first.metadata
    t.equal(resourceVersion !== created.metadata.resourceVersion, writesFirst, name)
    t.same({ ...first.metadata, resourceVersion: '' }, { ...created.metadata, resourceVersion: '' })
    t.equal((await patch()).body.metadata.resourceVersion, resourceVersion, `${name}, again`)
  }
})

t.test(
  'what is kept as it was written has changed where its keys are in another order',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/apis/resource.k8s.io/v1/namespaces/x/resourceclaims'
    const device = { driver: 'd.io', pool: 'p', device: 'x' }
    const requests = [{ name: 'r', exactly: { deviceClassName: 'k.io' } }]
    await api.post(path, { metadata: { name: 'a' }, spec: { devices: { requests } } })
    const results = [{ request: 'r', ...device }]
    const put = async (data: object) => {
      const { body } = await api.get(`${path}/a`)
      body.status = { allocation: { devices: { results } }, devices: [{ ...device, data }] }
      const answer = await api.send('PUT', `${path}/a/status`, { body })
      t.same(Object.keys(answer.body.status.devices[0].data), Object.keys(data))
      return answer.body.metadata.resourceVersion
    }
    const first = await put({ a: 1, b: 2 })
    t.equal(await put({ a: 1, b: 2 }), first)
    t.not(await put({ b: 2, a: 1 }), first)
  },
)
