/** What was given as nothing, what was not given, and what another version carries (answers of kube-apiserver v1.36). */
import t from 'tap'
import type { StatusCause } from '#api/status.js'
import type { Answer } from './api-client.js'
import { startApiServer } from './api-server.js'

const merge = 'application/merge-patch+json'
const container = { name: 'c', image: 'i' }
const causesOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  ((body.details?.causes ?? []) as StatusCause[]).map((cause) => `${cause.field}: ${cause.message}`)

t.test('an immutable ConfigMap gains no empty map', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/api/v1/namespaces/x/configmaps'
  await api.post(path, { metadata: { name: 'a' }, data: { a: 'b' }, immutable: true })
  const answer = await api.send('PATCH', `${path}/a`, { body: { binaryData: {} }, type: merge })
  t.same(causesOf(answer), ['binaryData: Forbidden: field is immutable when `immutable` is set'])
  const same = await api.send('PATCH', `${path}/a`, { body: { data: { a: 'b' } }, type: merge })
  t.equal(same.code, 200)
})

t.test('an immutable ConfigMap without data may be given none', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/api/v1/namespaces/x/configmaps'
  await api.post(path, { metadata: { name: 'a' }, immutable: true })
  const answer = await api.send('PATCH', `${path}/a`, { body: { data: {} }, type: merge })
  t.equal(answer.code, 200)
  const secrets = '/api/v1/namespaces/x/secrets'
  await api.post(secrets, { metadata: { name: 'a' }, immutable: true })
  const refused = await api.send('PATCH', `${secrets}/a`, { body: { data: {} }, type: merge })
  t.same(causesOf(refused), ['data: Forbidden: field is immutable when `immutable` is set'])
})

t.test('a pointer to nothing is a change where there was none', async (t) => {
  const { api } = await startApiServer(t)
  const capacities = '/apis/storage.k8s.io/v1/namespaces/x/csistoragecapacities'
  await api.post(capacities, { metadata: { name: 'a' }, storageClassName: 's' })
  const topology = await api.send('PATCH', `${capacities}/a`, {
    body: { nodeTopology: {} },
    type: merge,
  })
  t.same(causesOf(topology), ['nodeTopology: Invalid value: {}: field is immutable'])
  const events = '/apis/events.k8s.io/v1/namespaces/x/events'
  await api.post(events, {
    metadata: { name: 'a' },
    regarding: { kind: 'Pod', name: 'a', namespace: 'x' },
    reason: 'R',
    action: 'A',
    type: 'Normal',
    note: 'n',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/a',
    reportingInstance: 'i',
  })
  const related = await api.send('PATCH', `${events}/a`, { body: { related: {} }, type: merge })
  t.same(causesOf(related), [
    'related: Invalid value: {"Kind":"","Namespace":"","Name":"","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable',
  ])
  const row = await api.send('GET', `${events}/a`, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  })
  const { cells } = row.body.rows[0]
  t.same([cells[3], cells[5], cells[6]], ['pod/a', 'example.com/a, i', 'n'])
  const partial = {
    headers: { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' },
  }
  t.match((await api.send('GET', events, partial)).body.message, '(*core.EventList)')
  await api.send('PATCH', `/api/v1/namespaces/x/events/a`, { body: { series: {} }, type: merge })
  t.same((await api.get(`/api/v1/namespaces/x/events/a`)).body.series, { lastObservedTime: null })
  t.same((await api.get(`${events}/a`)).body.series, { count: 0, lastObservedTime: null })
})

t.test('a resize that leaves the containers out is refused', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/api/v1/namespaces/x/pods'
  await api.post(path, { metadata: { name: 'a' }, spec: { containers: [container] } })
  const answer = await api.send('PUT', `${path}/a/resize`, {
    body: { metadata: { name: 'a' } },
  })
  t.same(causesOf(answer), [
    'spec.containers: Required value',
    'spec.containers: Forbidden: containers may not be added or removed on resize',
  ])
})

t.test(
  'a ReplicationController without labels has those of its template, also after its status was written',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/api/v1/namespaces/x/replicationcontrollers'
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } }
    await api.post(path, { metadata: { name: 'a', labels: {} }, spec: { selector: {}, template } })
    const answer = await api.send('PUT', `${path}/a/status`, {
      body: { metadata: { name: 'a' }, status: { replicas: 1 } },
    })
    t.same(answer.body.metadata.labels, { a: 'b' })
    t.same(answer.body.spec.selector, { a: 'b' })
  },
)

t.test('a DaemonSet that is updated by hand keeps the bounds of rolling as numbers', async (t) => {
  const { api } = await startApiServer(t)
  const { body } = await api.post('/apis/apps/v1/namespaces/x/daemonsets', {
    metadata: { name: 'a' },
    spec: {
      updateStrategy: { type: 'OnDelete', rollingUpdate: {} },
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } },
    },
  })
  t.same(body.spec.updateStrategy.rollingUpdate, { maxUnavailable: 0, maxSurge: 0 })
})

t.test(
  'a Service whose first address is exchanged by its list is refused for the list',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/api/v1/namespaces/x/services'
    await api.post(path, {
      metadata: { name: 'a' },
      spec: { clusterIP: 'None', ports: [{ port: 80 }] },
    })
    const answer = await api.send('PATCH', `${path}/a`, {
      body: { spec: { clusterIPs: ['x'] } },
      type: merge,
    })
    t.same(causesOf(answer), [
      'spec.clusterIPs: Invalid value: ["x"]: first value must match `clusterIP`',
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ])
  },
)

t.test(
  'an autoscaler carries every source of its metrics to autoscaling/v1 and back',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = (version: string) =>
      `/apis/autoscaling/${version}/namespaces/x/horizontalpodautoscalers`
    const prefix = 'autoscaling.alpha.kubernetes.io/'
    const cpu = (averageUtilization: number) => ({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
    })
    const pods = {
      type: 'Pods',
      pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '2' } },
    }
    const external = {
      type: 'External',
      external: { metric: { name: 'e' }, target: { type: 'AverageValue', averageValue: '3' } },
    }
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
    await api.post(path('v2'), {
      metadata: { name: 'a' },
      spec: { scaleTargetRef, maxReplicas: 3, metrics: [cpu(50), pods, cpu(60), external] },
    })
    const currentMetrics = [
      {
        type: 'x',
        pods: { metric: { name: 'm' }, current: {} },
        resource: { name: 'cpu', current: {} },
      },
    ]
    await api.send('PATCH', `${path('v2')}/a/status`, {
      body: { status: { currentMetrics, desiredReplicas: 1 } },
      type: merge,
    })
    const { body } = await api.get(`${path('v1')}/a`)
    t.equal(body.spec.targetCPUUtilizationPercentage, 50)
    t.same(JSON.parse(body.metadata.annotations[`${prefix}metrics`]), [
      { type: 'Pods', pods: { metricName: 'm', targetAverageValue: '2' } },
      { type: 'External', external: { metricName: 'e', targetAverageValue: '3' } },
    ])
    t.same(JSON.parse(body.metadata.annotations[`${prefix}current-metrics`]), [
      {
        type: 'x',
        pods: { metricName: 'm', currentAverageValue: '0' },
        resource: { name: 'cpu', currentAverageValue: '0' },
      },
    ])
    const {
      uid: _uid,
      resourceVersion: _version,
      managedFields: _owners,
      ...metadata
    } = body.metadata
    await api.post(path('v1'), { ...body, metadata: { ...metadata, name: 'b' } })
    const back = (await api.get(`${path('v2')}/b`)).body
    t.same(back.spec.metrics, [pods, external, cpu(50)])
    t.notOk('currentReplicas' in back.status, 'v2 does not write a zero')
    const listed = (await api.get(path('v1'))).body.items[1]
    t.same(Object.keys(listed.metadata).slice(0, 3), ['name', 'namespace', 'uid'])
    await api.post(path('v2'), {
      metadata: { name: 'c' },
      spec: { scaleTargetRef, maxReplicas: 3, metrics: [pods] },
    })
    await api.send('PATCH', `${path('v1')}/c`, {
      body: { metadata: { annotations: { [`${prefix}metrics`]: null } } },
      type: merge,
    })
    const { spec } = (await api.get(`${path('v2')}/c`)).body
    t.same(spec, { scaleTargetRef, minReplicas: 1, maxReplicas: 3, metrics: [cpu(80)] })
  },
)

t.test(
  'what is kept as it was written loses its order in Go’s maps, and an immutable one refuses that',
  async (t) => {
    const { api } = await startApiServer(t)
    const revisions = '/apis/apps/v1/namespaces/x/controllerrevisions'
    const data = { kind: 'x', a: 1 }
    await api.post(revisions, { metadata: { name: 'a' }, data, revision: 1 })
    const strategic = 'application/strategic-merge-patch+json'
    const reordered = await api.send('PATCH', `${revisions}/a`, {
      body: { revision: 2 },
      type: strategic,
    })
    t.same(causesOf(reordered), ['data: Invalid value: {"a":1,"kind":"x"}: field is immutable'])
    const merged = await api.send('PATCH', `${revisions}/a`, { body: { revision: 2 }, type: merge })
    t.equal(JSON.stringify(merged.body.data), JSON.stringify(data))
    const classes = '/apis/resource.k8s.io/v1/deviceclasses'
    await api.post(classes, { metadata: { name: 'a' }, spec: {} })
    const config = [{ opaque: { driver: 'd.x', parameters: { kind: 'x', apiVersion: 'y/v1' } } }]
    for (const type of [merge, strategic]) {
      const { body } = await api.send('PATCH', `${classes}/a`, { body: { spec: { config } }, type })
      t.equal(
        JSON.stringify(body.spec.config[0].opaque.parameters),
        '{"apiVersion":"y/v1","kind":"x"}',
      )
    }
  },
)
