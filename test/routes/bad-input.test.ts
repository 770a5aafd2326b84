/** What no honest client sends: refused with a reason, or kept faithfully; never a crash, never a long wait. */
import t from 'tap'
import { inProtobuf } from '#routes/answers/protobuf.js'
import type { ApiClient } from './api-client.js'
import { startApiServer } from './api-server.js'

const configMaps = '/api/v1/namespaces/x/configmaps'

const post = (api: ApiClient, raw: string | Buffer, type = 'application/json') =>
  api.send('POST', configMaps, { raw, type })

t.test('a body beyond 3 MiB is 413, one just below it is read', async (t) => {
  const { api } = await startApiServer(t)
  const body = (bytes: number) =>
    JSON.stringify({ metadata: { name: 'big' }, unknown: 'x'.repeat(bytes) })
  t.match((await post(api, body(3 * 1024 * 1024))).body, {
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: limit is 3145728',
  })
  t.equal((await post(api, body(3 * 1024 * 1024 - 1024))).code, 201)
})

t.test('a body in protobuf is read as the kind that its envelope names', async (t) => {
  const { api } = await startApiServer(t)
  const protobuf = 'application/vnd.kubernetes.protobuf'
  const pod = inProtobuf({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { priority: 1 } })
  const refused = await post(api, pod, protobuf)
  t.equal(
    refused.body.message,
    'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion',
  )
  const options = await api.send('DELETE', `${configMaps}/a`, { raw: pod, type: protobuf })
  t.match(options.body.message, /^no kind "Pod" is registered for version "v1"/)
  // What names no version is of the one that is expected.
  const body = inProtobuf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
  const nameless = Buffer.from(body.toString('latin1').replace('v1', 'v/'), 'latin1')
  const created = await post(api, nameless, protobuf)
  t.match(created, { code: 201, body: { apiVersion: 'v1' } })
})

t.test('a byte that begins no character is named as it came', async (t) => {
  const { api } = await startApiServer(t)
  const message = (bytes: Buffer) => post(api, bytes).then(({ body }) => body.message)
  t.match(await message(Buffer.from([0xd9, 0xd9])), "invalid character 'Ù' looking for beginning")
  t.match(await message(Buffer.from('[é')), "invalid character 'Ã' looking for beginning")
})

t.test('other mistakes of a request are reported before the size of its body', async (t) => {
  const { api } = await startApiServer(t)
  const raw = `{"data":{"k":"${'x'.repeat(3 * 1024 * 1024)}"}}`
  const codeOf = async (method: string, path: string, type: string) =>
    (await api.send(method, path, { raw, type })).code
  const json = 'application/json'
  const merge = 'application/merge-patch+json'
  t.equal(await codeOf('POST', configMaps, 'text/plain'), 415)
  t.equal(await codeOf('PATCH', `${configMaps}/a`, json), 415)
  t.equal(await codeOf('POST', `${configMaps}/a`, json), 405)
  t.equal(await codeOf('POST', '/api/v1/namespaces/x/nosuch', json), 404)
  t.equal(await codeOf('GET', configMaps, json), 200)
  t.equal(await codeOf('PATCH', `${configMaps}/nosuch`, merge), 413)
  t.equal(await codeOf('PUT', `${configMaps}/nosuch`, json), 413)
  t.equal(await codeOf('DELETE', `${configMaps}/nosuch`, json), 413)
})

t.test('the size of a body is reported before options, its type before both or last', async (t) => {
  const { api } = await startApiServer(t)
  const [small, large] = [2, 3 * 1024 * 1024].map((length) => `{"data":"${'x'.repeat(length)}"}`)
  const eviction = '/api/v1/namespaces/x/pods/a/eviction'
  const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  for (const [method, path] of [
    ['POST', configMaps],
    ['POST', eviction],
    ['POST', review],
    ['PUT', `${configMaps}/a`],
  ] as const) {
    const codeOf = async (raw: string | undefined, type: string) =>
      (await api.send(method, `${path}?fieldValidation=x`, { raw, type })).code
    const noType = method === 'POST' ? 415 : undefined
    t.equal(await codeOf(large, 'application/json'), 413, path)
    t.equal(await codeOf(small, 'application/json'), 422, path)
    t.equal(await codeOf(large, 'text/plain'), noType ?? 413, path)
    t.equal(await codeOf(small, 'text/plain'), noType ?? 422, path)
    t.equal((await api.send(method, path, { raw: small, type: 'text/plain' })).code, 415, path)
  }
})

t.test('nesting of 100,000 levels is refused in JSON, YAML and patches', async (t) => {
  const { api } = await startApiServer(t)
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  t.equal((await post(api, `{"metadata":{"name":"a"},"data":${deep}}`)).code, 400)
  t.equal((await post(api, `metadata: {name: a}\ndata: ${deep}`, 'application/yaml')).code, 400)
  await post(api, '{"metadata":{"name":"a"}}')
  const patch = await api.send('PATCH', `${configMaps}/a`, {
    raw: `{"data":${deep}}`,
    type: 'application/merge-patch+json',
  })
  t.equal(patch.code, 400)
  t.match(patch.body.message, "invalid character '[' exceeded max depth")
  const options = await api.send('DELETE', `${configMaps}/a`, { raw: deep })
  t.equal(options.code, 400)
  t.equal((await api.get(`${configMaps}/a`)).code, 200)
})

t.test('an alias bomb is refused', async (t) => {
  const { api } = await startApiServer(t)
  const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x]']
  for (let i = 1; i < 12; i++) {
    const alias = `*a${i - 1}`
    lines.push(`a${i}: &a${i} [${Array(9).fill(alias).join(',')}]`)
  }
  t.equal((await post(api, lines.join('\n'), 'application/yaml')).code, 400)
})

t.test('keys that JavaScript gives a meaning are keys like others', async (t) => {
  const { api } = await startApiServer(t)
  const keys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  const data = `{${keys.map((k) => `"${k}":"v"`).join(',')}}`
  t.equal((await post(api, `{"metadata":{"name":"a"},"data":${data}}`)).code, 201)
  const { text } = await api.get(`${configMaps}/a`)
  for (const key of keys) t.match(text, `"${key}":"v"`)
  const patched = await api.send('PATCH', `${configMaps}/a`, {
    raw: '{"data":{"__proto__":"w"}}',
    type: 'application/merge-patch+json',
  })
  t.match(patched.text, '"__proto__":"w"')
  for (const [type, raw] of [
    ['merge-patch+json', '{"data":{"b":"1"}}'],
    ['strategic-merge-patch+json', '{"data":{"c":"1"}}'],
    ['json-patch+json', '[{"op":"add","path":"/data/d","value":"1"}]'],
    [
      'apply-patch+yaml',
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"e":"1"}}',
    ],
  ] as const) {
    const path = `${configMaps}/a?fieldManager=m`
    const kept = await api.send('PATCH', path, { raw, type: `application/${type}` })
    t.match(kept.text, '"__proto__":"w"', `${type} of another key keeps it`)
  }
  t.equal(({} as { v?: string }).v, undefined)
  const path = '/api/v1/namespaces/__proto__/configmaps/constructor'
  t.equal((await api.get(path)).code, 404)
  t.equal((await api.get('/apis/__proto__/v1/toString')).code, 404)
})

t.test(
  'an apply whose metadata is null makes an object without a name, which is refused',
  async (t) => {
    const { api } = await startApiServer(t)
    for (const manager of ['m', 'kubectl']) {
      const { body } = await api.send('PATCH', `${configMaps}/new?fieldManager=${manager}`, {
        raw: '{"apiVersion":"v1","kind":"ConfigMap","metadata":null}',
        type: 'application/apply-patch+yaml',
      })
      t.match(body, {
        code: 400,
        message:
          'the name of the object (new based on URL) was undeterminable: name must be provided',
      })
    }
  },
)

t.test('a patch that leaves no apiVersion leaves an object without a name', async (t) => {
  const { api } = await startApiServer(t)
  await post(api, '{"metadata":{"name":"a"},"data":{"k":"v"}}')
  const message =
    'the name of the object (a based on URL) was undeterminable: name must be provided'
  for (const [type, raw] of [
    ['json-patch+json', '[{"op":"remove","path":"/apiVersion"}]'],
    ['merge-patch+json', '{"apiVersion":null}'],
    ['merge-patch+json', '{"apiVersion":""}'],
  ] as const) {
    const patch = { raw, type: `application/${type}` }
    const { body } = await api.send('PATCH', `${configMaps}/a`, patch)
    t.match(body, { code: 400, message })
    const strict = await api.send('PATCH', `${configMaps}/a?fieldValidation=Strict`, patch)
    t.match(strict.body, { code: 422, message: /unknown field "data", unknown field "metadata"/ })
  }
})

t.test(
  'a patch that leaves a group without a version makes an object without a name',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
    await api.send('POST', path, { body: { metadata: { name: 'a' }, spec: {} } })
    for (const apiVersion of ['', '/', 'coordination.k8s.io/']) {
      const { body } = await api.send('PATCH', `${path}/a`, {
        raw: JSON.stringify({ apiVersion }),
        type: 'application/merge-patch+json',
      })
      t.match(body, { code: 400, message: /undeterminable: name must be provided$/ }, apiVersion)
    }
  },
)

t.test('bytes that are no UTF-8 do no harm', async (t) => {
  const { api } = await startApiServer(t)
  const raw = Buffer.concat([
    Buffer.from('{"metadata":{"name":"a"},"data":{"k":"'),
    Buffer.from([0xff, 0xfe, 0xc0]),
    Buffer.from('"}}'),
  ])
  await post(api, raw)
  t.ok((await api.get(configMaps)).code < 500)
})

t.test('a client is known by its agent, read as UTF-8', async (t) => {
  const { api } = await startApiServer(t)
  const bytes = (...codes: number[]) => Buffer.from(codes).toString('latin1')
  for (const [agent, manager] of [
    [bytes(0xc3, 0xbc, 0x2f, 0x31), '\u00fc'],
    [bytes(0x6b, 0xfc, 0x2f, 0x31), 'k\ufffd'],
  ] as const) {
    // Node sends the bytes of headers as they are before a body of bytes alone.
    const raw = Buffer.from('{"metadata":{"name":"m"},"data":{"a":""}}')
    const headers = { 'user-agent': agent }
    const { body } = await api.send('POST', `${configMaps}?dryRun=All`, { raw, headers })
    t.equal(body.metadata.managedFields[0].manager, manager)
  }
})

t.test('media types that nobody knows are 415 and 406', async (t) => {
  const { api } = await startApiServer(t)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    ';;',
    'a/b/c',
    'application/json;a=b;A=c',
  ]) {
    const refused = await post(api, '{"metadata":{"name":"a"}}', type)
    t.match(refused.body, { code: 415, reason: 'UnsupportedMediaType' }, type)
  }
  t.equal((await post(api, '{"metadata":{"name":"a"}}', '')).code, 201, 'none is JSON')
  for (const accept of ['image/png', 'application/*', 'application/json;as=Table'])
    t.equal((await api.get(configMaps, { headers: { accept } })).code, 406, accept)
  const wrongPatch = await api.send('PATCH', `${configMaps}/a`, { raw: '{}' })
  t.equal(wrongPatch.code, 415)
  for (const [type, message] of [
    ['text/plain', '415: Unsupported Media Type'],
    [
      'application/merge-patch+json,text/plain',
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml',
    ],
  ] as const)
    t.equal(
      (await api.send('PATCH', `${configMaps}/a`, { raw: '{}', type })).body.message,
      message,
      type,
    )
})

t.test('bodies that are no objects, and texts that are no JSON', async (t) => {
  const { api } = await startApiServer(t)
  for (const raw of ['', '{', '[]', '"a"', '1', 'true', '{"a":1} x', '\u0000', '{"metadata":7}'])
    t.match((await post(api, raw)).body, { code: 400, kind: 'Status' }, JSON.stringify(raw))
  for (const name of ['..', 'a%2Fb', 'a%25b', '%00', '%', '%zz'])
    t.ok((await api.get(`${configMaps}/${name}`)).code < 500, name)
})

t.test('parameters that are no numbers, versions or tokens', async (t) => {
  const { api } = await startApiServer(t)
  const rows: [string, number][] = [
    ['limit=abc', 400],
    ['limit=99999999999999999999', 400],
    ['resourceVersion=abc', 400],
    ['continue=%25', 400],
    ['continue=e30', 400],
    ['labelSelector=%3D', 400],
    ['fieldSelector=__proto__%3D1', 400],
    ['limit=-1', 200],
  ]
  for (const [query, code] of rows)
    t.equal((await api.get(`${configMaps}?${query}`)).code, code, query)
})

t.test('paths of the wrong scope and unregistered kinds, as recorded', async (t) => {
  const { api } = await startApiServer(t)
  const message = async (method: string, path: string, body?: unknown) =>
    (await api.send(method, path, { body })).body?.message
  const noPath = 'the server could not find the requested resource'
  t.equal(await message('GET', '/api/v1/namespaces/x/nodes'), noPath)
  t.equal(await message('GET', '/apis/storage.k8s.io/v1/namespaces/x/storageclasses/a'), noPath)
  t.equal(
    await message('POST', configMaps, { apiVersion: 'v2', kind: 'Foo' }),
    'Foo in version "v2" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
  )
})

t.test('a version that cannot be one is refused, also for what does not exist', async (t) => {
  const { api } = await startApiServer(t)
  for (const path of [
    '/apis/coordination.k8s.io/v1/namespaces/x/leases/a',
    '/api/v1/namespaces/x/services/a',
  ])
    t.match(
      (await api.send('PUT', path, { body: { metadata: { name: 'a', resourceVersion: 'x' } } }))
        .body,
      { code: 500, message: 'strconv.ParseUint: parsing "x": invalid syntax' },
      path,
    )
})

t.test('a status cannot say that its pod is being deleted', async (t) => {
  const { api } = await startApiServer(t)
  const pods = '/api/v1/namespaces/x/pods'
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  await api.send('POST', pods, { body: { metadata: { name: 'a' }, spec } })
  const { code, body } = await api.send('PATCH', `${pods}/a/status`, {
    body: { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' }, status: { message: 'm' } },
    type: 'application/merge-patch+json',
  })
  t.equal(code, 200)
  t.match(body, { metadata: { deletionTimestamp: undefined }, status: { message: 'm' } })
})

t.test('a patch that spoils an object shows it with its keys in the order of Go', async (t) => {
  const { api } = await startApiServer(t)
  await post(api, '{"metadata":{"name":"a","labels":{"q":"r"}},"data":{"k":"v"}}')
  for (const [type, patch] of [
    ['merge-patch', { data: 1 }],
    ['json-patch', [{ op: 'replace', path: '/data', value: 1 }]],
  ] as const) {
    const { body } = await api.send('PATCH', `${configMaps}/a`, {
      body: patch,
      type: `application/${type}+json`,
    })
    t.match(
      body.message.replaceAll('\\', ''),
      /"{"apiVersion":"v1","data":1,"kind":"ConfigMap","metadata":{"name":"a","namespace":"x","uid":"[^"]*","resourceVersion":"[^"]*","creationTimestamp":/,
    )
  }
  const type = 'application/merge-patch+json'
  const wrong = { metadata: { labels: 7 }, data: 7 }
  const { body } = await api.send('PATCH', `${configMaps}/a`, { body: wrong, type })
  t.match(body.message, /field ConfigMap\.data of type map\[string\]string$/, 'and what is first')
})

t.test('data of a revision may hold integers beyond 2^53', async (t) => {
  const { api } = await startApiServer(t)
  const revisions = '/apis/apps/v1/namespaces/x/controllerrevisions'
  const raw = '{"metadata":{"name":"a"},"data":{"n":9007199254740993},"revision":1}'
  await api.send('POST', revisions, { raw })
  const type = 'application/merge-patch+json'
  t.equal((await api.send('PATCH', `${revisions}/a`, { body: { revision: 2 }, type })).code, 200)
  const other = raw.replace('993', '992')
  t.equal((await api.send('PUT', `${revisions}/a`, { raw: other })).code, 422)
})

t.test('empty and missing values are told apart, each in its own words', async (t) => {
  const { api } = await startApiServer(t)
  const revisions = '/apis/apps/v1/namespaces/x/controllerrevisions'
  const pods = '/api/v1/namespaces/x/pods'
  const metadata = { name: 'a' }
  await api.post(revisions, { metadata, data: { a: 1 } })
  await api.post(pods, { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } })
  const ephemeral = (more: object) => ({
    metadata,
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      ephemeralContainers: [{ name: 'd', image: 'i', ...more }],
    },
  })
  const notSet = (field: string) =>
    `spec.ephemeralContainers[0].${field}: Forbidden: cannot be set for an Ephemeral Container`
  const rows: [method: 'POST' | 'PUT', path: string, body: object, message: string][] = [
    ['POST', revisions, { metadata }, 'data: Required value: data is mandatory'],
    ['POST', revisions, { metadata, data: [1] }, 'data must be a valid JSON object'],
    ['PUT', `${revisions}/a`, { metadata }, 'is invalid: data: Invalid value: null: field is'],
    ['PUT', `${pods}/a/ephemeralcontainers`, ephemeral({ lifecycle: {} }), notSet('lifecycle')],
  ]
  for (const [method, path, body, message] of rows) {
    const answer = await api.send(method, path, { body })
    t.equal(answer.code, 422, message)
    t.match(answer.body.message, message)
  }
  t.equal(
    (await api.put(`${pods}/a/ephemeralcontainers`, ephemeral({ resources: {}, ports: null })))
      .code,
    200,
  )
  const limits = { limits: [{ type: 'Container', max: { cpu: 0 } }] }
  const raw = JSON.stringify({ metadata, spec: limits }).replace('"cpu":0', '"cpu":1e400')
  const beyond = await api.send('POST', '/api/v1/namespaces/x/limitranges', { raw })
  t.equal(beyond.code, 201)
  t.equal(beyond.body.spec.limits[0].max.cpu, '10e399', 'a quantity is read as it is written')
})

t.test(
  'a body is read as the kind that it says to be before it is refused as another',
  async (t) => {
    const { api } = await startApiServer(t)
    const problemOf = async (raw: string, path = configMaps) =>
      (await api.send('POST', path, { raw, type: 'application/json' })).body.message
    const as = (kind: string, problem: string) =>
      `${kind} in version "v1" cannot be handled as a ConfigMap: ${problem}`
    t.equal(
      await problemOf('{"apiVersion":"v1","kind":"Secret","data":{"k":5}}'),
      as(
        'Secret',
        'json: cannot unmarshal number into Go struct field Secret.data of type []uint8',
      ),
    )
    t.equal(
      await problemOf('{"apiVersion":"v1","kind":"ConfigMapList","items":5}'),
      as(
        'ConfigMapList',
        'json: cannot unmarshal number into Go struct field ConfigMapList.items of type []v1.ConfigMap',
      ),
    )
    t.equal(
      await problemOf('{"apiVersion":"v1","kind":"Secret","unknown":5}'),
      as('Secret', 'converting (v1.Secret) to (core.ConfigMap): unknown conversion'),
    )
    for (const [apiVersion, kind] of [
      ['apps/v1beta1', 'Deployment'],
      ['apps/v1beta1', 'StatefulSetList'],
      ['extensions/v1beta1', 'Ingress'],
      ['extensions/v1beta1', 'Scale'],
      ['policy/v1beta1', 'Eviction'],
    ])
      t.equal(
        await problemOf(
          JSON.stringify({ apiVersion, kind }),
          '/apis/events.k8s.io/v1/namespaces/x/events',
        ),
        `${kind} in version "v1beta1" cannot be handled as a Event: converting (v1beta1.${kind}) to (core.Event): unknown conversion`,
        'versions that are served no more are known',
      )
    t.match(
      await problemOf('{"apiVersion":"apps/v1beta1","kind":"DaemonSet"}'),
      /no kind "DaemonSet" is registered for version "apps\/v1beta1"/,
    )
    t.equal(
      await problemOf(
        '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","spec":5}',
        '/apis/autoscaling/v2/namespaces/x/horizontalpodautoscalers',
      ),
      'HorizontalPodAutoscaler in version "v1" cannot be handled as a HorizontalPodAutoscaler: json: cannot unmarshal number into Go struct field HorizontalPodAutoscaler.spec of type v1.HorizontalPodAutoscalerSpec',
    )
  },
)
