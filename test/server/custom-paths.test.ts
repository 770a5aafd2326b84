/** Custom resources answer by the verb, and for what their bodies say that they are. The texts are v1.36.3's. */
import t, { type Test } from 'tap'
import { definitionOf, versionOf } from './definition-body.js'
import { call, isServed, startServer } from './start-server.js'

const group = 'paths.example.com'
const things = (rest = '') => `/apis/${group}/v1/namespaces/default/things${rest && `/${rest}`}`

const start = async (t: Test) => {
  const server = await startServer(t)
  const spec = {
    type: 'object',
    properties: {
      a: { type: 'string' },
      'b-c': { type: 'string' },
      m: { type: 'object', additionalProperties: { type: 'string' } },
      replicas: { type: 'integer' },
      none: { type: 'object', additionalProperties: false },
    },
    'x-kubernetes-validations': [
      { rule: "!has(self.a) || self.a != 'one'", fieldPath: "['b-c']" },
      { rule: "!has(self.a) || self.a != 'two'", fieldPath: '.m.key' },
    ],
  }
  const status = { type: 'object', properties: { replicas: { type: 'integer' } } }
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
  const version = versionOf(
    'v1',
    { type: 'object', properties: { spec, status } },
    { subresources: { status: {}, scale } },
  )
  const names = { plural: 'things', kind: 'Thing' }
  await call(server, {
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: definitionOf({ group, scope: 'Namespaced', names, versions: [version] }),
  })
  await isServed(server, things())
  return (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    call(server, { method, path, headers, ...(body === undefined ? {} : { body }) })
}

const thing = (name: string, spec: object = {}, kind = 'Thing') => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name },
  spec,
})

t.test('the verb counts, wherever a request is sent', async (t) => {
  const send = await start(t)
  t.equal((await send('POST', things('elsewhere'), thing('a'))).status, 201)
  t.equal((await send('GET', things('a'))).status, 200, 'it has the name of the body')
  const merge = { 'content-type': 'application/merge-patch+json' }
  for (const [method, headers] of [
    ['PUT', {}],
    ['PATCH', merge],
  ] as const) {
    const { status, body } = await send(method, things(), thing('a'), headers)
    t.strictSame([status, body.message], [400, 'name must be provided'])
  }
  const strategic = { 'content-type': 'application/strategic-merge-patch+json' }
  t.equal((await send('PATCH', things(), {}, strategic)).status, 415, 'the type before the name')
  t.equal((await send('GET', things('a/status/more'))).body.metadata.name, 'a')
  t.equal((await send('POST', things('a/status/more'), {})).status, 405)
})

t.test('another kind is what validation refuses', async (t) => {
  const send = await start(t)
  const message = `Other.${group} "a" is invalid: kind: Invalid value: "Other": must be Thing`
  t.match((await send('POST', things(), thing('a', {}, 'Other'))).body, { code: 422, message })
  t.equal((await send('PUT', things('a'), thing('a', {}, 'Other'))).status, 404)
  const { metadata } = (await send('POST', things(), thing('a'))).body
  const other = thing('a', {}, 'Other')
  const versionless = await send('PUT', things('a'), other)
  t.match(versionless.body.details.causes, [{ field: 'metadata.resourceVersion' }])
  const { resourceVersion } = metadata
  const put = { ...other, metadata: { ...other.metadata, resourceVersion } }
  t.match((await send('PUT', things('a'), put)).body, { code: 422, message })
})

t.test('a table of a scale is read off its JSON, which has no zero replicas', async (t) => {
  const send = await start(t)
  await send('POST', things(), thing('a', { replicas: 0 }))
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const { body } = await send('GET', things('a/scale'), undefined, { accept })
  t.strictSame(body.rows[0].cells.slice(0, 3), ['a', null, 0])
})

t.test('one custom object is not a list, which only reading it as one tells', async (t) => {
  const send = await start(t)
  await send('POST', things(), thing('a', { replicas: 1 }))
  const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
  for (const path of ['a', 'a/status']) {
    const { body } = await send('GET', things(path), undefined, { accept })
    t.strictSame([body.code, body.message, body.reason], [500, 'content is not a list', undefined])
  }
  const { body } = await send('GET', things('a/scale'), undefined, { accept })
  t.match(body, { code: 406, message: /the requested object is not a list \(\*v1\.Scale\)$/ })
})

t.test('metadata alone has the order of its Go type', async (t) => {
  const send = await start(t)
  await send('POST', things(), thing('a'))
  const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
  const { text } = await send('GET', `${things('a')}?pretty=false`, undefined, { accept })
  t.match(text, /"managedFields":\[\{"manager":/)
})

t.test('the whole object of a row has its keys in order', async (t) => {
  const send = await start(t)
  await send('POST', things(), thing('a'))
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const { body } = await send('GET', `${things()}?includeObject=Object`, undefined, { accept })
  const { object } = body.rows[0]
  for (const one of [object, object.metadata, object.metadata.managedFields[0]])
    t.strictSame(Object.keys(one), Object.keys(one).sort())
})

t.test('the field of a rule is shown as fields and map keys are', async (t) => {
  const send = await start(t)
  for (const [a, field] of [
    ['one', 'spec.b-c'],
    ['two', 'spec.m[key]'],
  ] as const)
    t.match((await send('POST', things(), thing(a, { a }))).body.details.causes, [{ field }])
})

t.test('whatever is wrong with a scale, its scheme says one thing', async (t) => {
  const send = await start(t)
  await send('POST', things(), thing('a', { replicas: 1 }))
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' } }
  for (const body of [
    { ...scale, spec: { replicas: 'x' } },
    { ...scale, metadata: { name: 5 } },
    { ...scale, unknown: 1 },
    { apiVersion: 'v1', kind: 'Pod' },
    [],
  ]) {
    const answer = await send('PUT', things('a/scale?fieldValidation=Strict'), body)
    t.match(answer.body, {
      code: 400,
      message: 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"',
    })
  }
  t.equal((await send('PUT', things('a/scale'), { ...scale, unknown: 1 })).status, 200)
})

t.test('unknown fields of metadata are reported in the order of their keys', async (t) => {
  const send = await start(t)
  const metadata = {
    u6: 1,
    name: 'a',
    ownerReferences: [{ z: 1, apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u', b: 1 }],
    u0: 2,
  }
  const { body } = await send('POST', things('?fieldValidation=Strict'), {
    ...thing('a'),
    metadata,
  })
  t.match(
    body.message,
    'strict decoding error: unknown field "metadata.ownerReferences[0].b", unknown field "metadata.ownerReferences[0].z", unknown field "metadata.u0", unknown field "metadata.u6"',
  )
})

t.test('what has no additional properties has none for whoever applies, or writes', async (t) => {
  const send = await start(t)
  const none = thing('a', { none: { x: 1 } })
  const applied = { 'content-type': 'application/apply-patch+yaml' }
  t.match((await send('PATCH', `${things('a')}?fieldManager=m`, none, applied)).body, {
    code: 500,
    message: /: \.spec\.none\.x: field not declared in schema$/,
  })
  t.match((await send('POST', things(), none)).body, {
    code: 422,
    message: /: spec\.none: Invalid value: "x": spec\.none\.x in body is a forbidden property$/,
  })
})
