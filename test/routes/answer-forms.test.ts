/** Forms of answers and small refusals that clients can tell apart, as kube-apiserver v1.36 gives them. */
import t from 'tap'
import { startApiServer } from './api-server.js'

const configMaps = '/api/v1/namespaces/x/configmaps'
const pods = '/api/v1/namespaces/x/pods'
const as = (kind: string) => ({
  headers: { accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` },
})

t.test('the metadata of an empty list are null, of others a list', async (t) => {
  const { api } = await startApiServer(t)
  t.equal((await api.get(configMaps, as('PartialObjectMetadataList'))).body.items, null)
  await api.post(configMaps, { metadata: { name: 'a' } })
  t.equal((await api.get(configMaps, as('PartialObjectMetadataList'))).body.items.length, 1)
})

t.test('only the subresources status and scale are shown as Tables', async (t) => {
  const { api } = await startApiServer(t)
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  await api.post(pods, { metadata: { name: 'p' }, spec })
  const controllers = '/api/v1/namespaces/x/replicationcontrollers'
  const template = { metadata: { labels: { a: 'b' } }, spec }
  await api.post(controllers, {
    metadata: { name: 'r' },
    spec: { replicas: 3, selector: { a: 'b' }, template },
  })
  for (const path of ['ephemeralcontainers', 'resize'])
    t.equal((await api.get(`${pods}/p/${path}`, as('Table'))).code, 406, path)
  const eviction = { ...as('Table'), body: { metadata: { name: 'p' } } }
  t.equal((await api.send('POST', `${pods}/p/eviction`, eviction)).code, 406)
  t.equal((await api.get(`${pods}/p/status`, as('Table'))).code, 200)
  const claims = '/apis/resource.k8s.io/v1/namespaces/x/resourceclaims'
  await api.post(claims, { metadata: { name: 'c' }, spec: {} })
  t.equal((await api.get(`${claims}/c`, as('Table'))).code, 200)
  t.equal((await api.get(`${claims}/c/status`, as('Table'))).code, 406, 'as upstream has it')
  const list = await api.get(`${controllers}/r/scale`, as('PartialObjectMetadataList'))
  t.match(list.body.message, 'not a list (*autoscaling.Scale)')
  const scale = (await api.get(`${controllers}/r/scale`, as('Table'))).body
  t.same(
    scale.columnDefinitions.map((c: { name: string }) => c.name),
    ['Name', 'Desired', 'Available', 'Age'],
  )
  t.same(scale.rows[0].cells.slice(0, 3), ['r', 3, 0])
})

t.test(
  'equal owners are kept once: those of a body at once, those of a patch after admission',
  async (t) => {
    const { api } = await startApiServer(t)
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
    const metadata = { name: 'a', ownerReferences: [owner, owner] }
    const path = `${configMaps}/a`
    const raw = JSON.stringify({ metadata })
    const found = (when: string) =>
      `299 - ".metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"`
    const after = ' after mutating admission happens'
    for (const [method, at, type, when] of [
      ['POST', configMaps, 'application/json', ''],
      ['PUT', path, 'application/json', ''],
      ['PATCH', path, 'application/merge-patch+json', after],
    ] as const) {
      const { headers, body } = await api.send(method, at, { raw, type })
      t.equal(headers.warning, found(when), method)
      t.same(body.metadata.ownerReferences, [owner], method)
    }
  },
)

t.test('versions up to 2^64 are versions of the future', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  for (const version of ['9007199254740993', '18446744073709551615']) {
    const list = await api.get(
      `${configMaps}?resourceVersion=${version}&resourceVersionMatch=Exact`,
    )
    t.equal(list.code, 504, version)
    const update = await api.put(`${configMaps}/a`, {
      metadata: { name: 'a', resourceVersion: version },
    })
    t.equal(update.code, 409, version)
  }
  t.equal((await api.get(`${configMaps}?resourceVersion=18446744073709551616`)).code, 400)
})

t.test('options of a delete are refused for what Go cannot read', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  for (const [raw, message] of [
    [
      '{"gracePeriodSeconds":1.0}',
      'json: cannot unmarshal number 1.0 into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    [
      '{"gracePeriodSeconds":9223372036854775808}',
      'json: cannot unmarshal number 9223372036854775808 into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    ['{"kind":"DeleteOptions","apiVersion":"a/b/c"}', 'unexpected GroupVersion string: a/b/c'],
  ] as const)
    t.match(
      (await api.send('DELETE', `${configMaps}/a`, { raw })).body,
      { code: 400, message },
      raw,
    )
})

t.test(
  'a taken name that was to be generated belongs to an object that is being deleted',
  async (t) => {
    const { api } = await startApiServer(t)
    const metadata = { name: 'g-1', generateName: 'g-', finalizers: ['example.com/f'] }
    await api.post(configMaps, { metadata })
    t.match(
      (await api.post(configMaps, { metadata })).body.message,
      /^configmaps "g-1" already exists, the server/,
    )
    await api.delete(`${configMaps}/g-1`)
    t.match(
      (await api.post(configMaps, { metadata })).body.message,
      /^object is being deleted: configmaps "g-1" already/,
    )
  },
)

t.test('a watch of one name by the old path takes no selector of another', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/api/v1/watch/namespaces/x/configmaps/a?timeoutSeconds=1&fieldSelector='
  for (const selector of ['metadata.name%3Db', 'metadata.name!%3Da', 'metadata.namespace%3Dx'])
    t.match((await api.get(path + selector)).body, {
      message: "fieldSelector metadata.name doesn't match requested name",
    })
  t.equal((await api.get(`${path}metadata.name%3Da`)).code, 200)
})

t.test(
  'each key that YAML has twice is a warning of its own, in strict decoding all are one error',
  async (t) => {
    const { api } = await startApiServer(t)
    const send = (query: string) =>
      api.send('POST', `${configMaps}?dryRun=All&fieldValidation=${query}`, {
        raw: 'metadata: {name: a, name: b}\ndata: {k: v, k: w}\n',
        type: 'application/yaml',
      })
    t.equal(
      (await send('Warn')).headers.warning,
      '299 - "line 1: key \\"name\\" already set in map", 299 - "line 2: key \\"k\\" already set in map"',
    )
    t.match(
      (await send('Strict')).body.message,
      'strict decoding error: yaml: unmarshal errors:\n  line 1: key "name" already set in map\n  line 2: key "k" already set in map',
    )
  },
)

t.test('keys that an apply has twice are told of once its result can be read', async (t) => {
  const { api } = await startApiServer(t)
  const apply = (data: string) =>
    api.send('PATCH', '/api/v1/namespaces/x/secrets/s?fieldManager=m&fieldValidation=Strict', {
      raw: `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: ${data}\n`,
      type: 'application/apply-patch+yaml',
    })
  t.match((await apply('{k: dg==, k: dw==}')).body, {
    code: 400,
    message: /^error strict decoding YAML: /,
  })
  t.match((await apply('{k: "?", k: "?"}')).body, {
    code: 500,
    message: /illegal base64 data at input byte 0$/,
  })
})

t.test('a warning of a deprecated kind comes with refusals too', async (t) => {
  const { api } = await startApiServer(t)
  const endpoints = '/api/v1/namespaces/x/endpoints'
  for (const [method, query, code] of [
    ['GET', 'limit=x', 400],
    ['GET', 'resourceVersionMatch=Exact', 422],
    ['DELETE', 'dryRun=x', 422],
    ['DELETE', '', 200],
  ] as const) {
    const answer = await api.send(method, `${endpoints}?${query}`)
    t.equal(answer.code, code, query)
    t.match(answer.headers.warning, /v1 Endpoints is deprecated/, query)
  }
})

t.test('a dry run shows what storage would not keep', async (t) => {
  const { api } = await startApiServer(t)
  const leases = '/apis/coordination.k8s.io/v1/namespaces/x/leases'
  const lease = (metadata: object) => ({ metadata, spec: { holderIdentity: 'h' } })
  const sent = { name: 'a', selfLink: 's', resourceVersion: '7' }
  const shown = (await api.put(`${leases}/a?dryRun=All`, lease(sent))).body.metadata
  t.match(shown, { selfLink: 's', resourceVersion: '7' }, 'an update that creates')
  const posted = await api.post(`${leases}?dryRun=All`, lease({ ...sent, resourceVersion: 'x' }))
  t.match(posted.body.metadata, { selfLink: undefined, resourceVersion: 'x' }, 'a create')
  const stored = (await api.put(`${leases}/a`, lease(sent))).body.metadata
  t.notOk('selfLink' in stored)
  const path = `${leases}/a?dryRun=All`
  const patched = await api.merge(path, { metadata: { selfLink: 'q' } })
  const { resourceVersion } = stored
  t.match(patched.body.metadata, { selfLink: 'q', resourceVersion })
  t.notOk('selfLink' in (await api.get(`${leases}/a`)).body.metadata)
})

t.test('what an update creates may end already, what a POST creates may not', async (t) => {
  const { api } = await startApiServer(t)
  const leases = '/apis/coordination.k8s.io/v1/namespaces/x/leases'
  const ended = { deletionTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 }
  const lease = (name: string) => ({ metadata: { name, ...ended, uid: 'u' }, spec: {} })
  const posted = (await api.post(leases, lease('posted'))).body.metadata
  t.match(posted, { deletionTimestamp: undefined, deletionGracePeriodSeconds: undefined })
  const put = (await api.put(`${leases}/put`, { ...lease('put') })).body
  t.equal(put.code, 409, 'a uid is a precondition')
  const metadata = { name: 'put', ...ended }
  t.match((await api.put(`${leases}/put`, { metadata, spec: {} })).body.metadata, ended)
  t.match((await api.get(`${leases}/put`)).body.metadata, ended)
})

t.test('what a body says it is counts in any case, its other keys only as they are', async (t) => {
  const { api } = await startApiServer(t)
  const name = { metadata: { name: 'a' } }
  const refused = await api.post(configMaps, { ...name, APIVERSION: 'v2' })
  t.match(refused.body.message, 'no kind "ConfigMap" is registered for version "v2"')
  const mistyped = await api.post(configMaps, { ...name, Kind: 1 })
  t.match(
    mistyped.body.message,
    "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
  )
  const raw = '{"apiVersion":"v1","kind":1,"kind":"ConfigMap","metadata":{"name":"a"}}'
  const replaced = await api.send('POST', configMaps, { raw, type: 'application/json' })
  t.match(replaced.body.message, 'cannot unmarshal number into Go struct field .kind of type')
  const made = await api.post(configMaps, { ...name, Kind: 'ConfigMap', Data: { k: 'v' } })
  t.equal(made.code, 201)
  t.notOk('data' in made.body)
})

t.test('unknown fields of a strategic patch are reported in order', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  const answer = await api.send('PATCH', `${configMaps}/a?fieldValidation=Strict`, {
    body: { zb: 1, metadata: { q: 1 }, Ab: 2 },
    type: 'application/strategic-merge-patch+json',
  })
  t.match(
    answer.body.message,
    /strict decoding error: unknown field "Ab", unknown field "metadata.q", unknown field "zb"$/,
  )
})

t.test('if a patch makes apiVersion and kind no strings, apiVersion is reported', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  const answer = await api.merge(`${configMaps}/a`, { apiVersion: 1, kind: 2 })
  t.match(answer.body.message, /number into Go struct field .apiVersion of type string$/)
})

t.test('a name that is too long for a registry is no image of the latest tag', async (t) => {
  const { api } = await startApiServer(t)
  const policyOf = async (image: string) => {
    const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image }] }
    const pods = '/api/v1/namespaces/x/pods?dryRun=All'
    return (await api.post(pods, { metadata: { name: 'a' }, spec })).body.spec.containers[0]
      .imagePullPolicy
  }
  const name = 'a'.repeat(247)
  t.equal(await policyOf(name), 'Always')
  t.equal(await policyOf(`${name}a`), 'IfNotPresent', 'behind library/')
  t.equal(await policyOf(`x.io/${name}aaaaaaaa`), 'Always')
  t.equal(await policyOf(`x.io/${name}aaaaaaaaa`), 'IfNotPresent')
})

t.test('a name elsewhere keeps no policy of internal traffic', async (t) => {
  const { api } = await startApiServer(t)
  const spec = { type: 'ExternalName', externalName: 'a.b', internalTrafficPolicy: 'Local' }
  const made = await api.post('/api/v1/namespaces/x/services', { metadata: { name: 'a' }, spec })
  t.equal(made.code, 201)
  t.notOk('internalTrafficPolicy' in made.body.spec)
})

t.test('an autoscaler of the old version has the row of the new one', async (t) => {
  const { api } = await startApiServer(t)
  const autoscalers = '/apis/autoscaling/v1/namespaces/x/horizontalpodautoscalers'
  const annotations = { 'autoscaling.alpha.kubernetes.io/current-metrics': '[]', kept: 'x' }
  const spec = {
    scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
    maxReplicas: 3,
    targetCPUUtilizationPercentage: 50,
  }
  await api.post(autoscalers, { metadata: { name: 'a', annotations }, spec })
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const { rows } = (await api.get(`${autoscalers}/a`, { headers: { accept } })).body
  t.equal(rows[0].cells[2], 'cpu: <unknown>/50%')
  t.same(rows[0].object.metadata.annotations, { kept: 'x' })
  const metrics = ['cpu', 'memory'].map((name) => ({
    type: 'Resource',
    resource: { name, target: { type: 'Utilization', averageUtilization: 60 } },
  }))
  await api.post(autoscalers.replace('v1', 'v2'), {
    metadata: { name: 'b' },
    spec: { scaleTargetRef: spec.scaleTargetRef, maxReplicas: 3, metrics },
  })
  const { body } = await api.get(`${autoscalers}/b`, { headers: { accept } })
  t.equal(body.rows[0].cells[2], 'cpu: <unknown>/60%, memory: <unknown>/60%')
})

t.test('a taint of a device has a time, each time that it is given none', async (t) => {
  const { api } = await startApiServer(t)
  const slices = '/apis/resource.k8s.io/v1/resourceslices'
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 }
  const devices = [{ name: 'd', taints: [{ key: 'k', effect: 'NoSchedule' }] }]
  const slice = { metadata: { name: 'a' }, spec: { driver: 'd.e', nodeName: 'n', pool, devices } }
  const { spec } = (await api.post(slices, slice)).body
  t.match(spec.devices[0].taints[0].timeAdded, /^\d{4}-.*Z$/)
})

t.test('of several faults of a merge patch the first in its text is reported', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  const answer = await api.merge(`${configMaps}/a`, { metadata: { name: 1 }, data: 0 })
  t.match(answer.body.message, /cannot unmarshal number into Go struct field ConfigMap.data of/)
})
