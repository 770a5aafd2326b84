/** Versions of a custom resource that nothing converts: each reads and writes with its own schema, storage with its. */
import t, { type Test } from 'tap'
import { write } from '#json/json.js'
import { definitionOf, textsOf, versionOf } from './definition-body.js'
import { answerThat, call, isServed, startServer } from './start-server.js'

const group = 'plain.example.com'
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const path = (version: string, name = '') =>
  `/apis/${group}/${version}/namespaces/default/notes${name && `/${name}`}`
const merge = { 'content-type': 'application/merge-patch+json' }

const version = (name: string, storage: boolean, fields: readonly string[]) =>
  versionOf(name, textsOf(fields), { storage })

const start = async (t: Test) => {
  const server = await startServer(t)
  const body = definitionOf({
    group,
    scope: 'Namespaced',
    names: { plural: 'notes', kind: 'Note' },
    versions: [
      version('v1', true, ['a']),
      version('v2', false, ['a', 'b']),
      { ...version('v7', false, ['a']), served: false },
    ],
  })
  await call(server, { method: 'POST', path: crds, body })
  await isServed(server, path('v1'))
  const create = (v: string, name: string, fields: object) =>
    call(server, {
      method: 'POST',
      path: `${path(v)}?fieldManager=me`,
      body: { apiVersion: `${group}/${v}`, kind: 'Note', metadata: { name }, ...fields },
    })
  return { server, create }
}

t.test('what storage does not know is dropped, and owned where it was written', async (t) => {
  const { server, create } = await start(t)
  const { status, body } = await create('v2', 'x', { a: '1', b: '2' })
  t.equal(status, 201)
  t.match(body, { apiVersion: `${group}/v2`, a: '1' })
  t.match(body.metadata.managedFields, [{ manager: 'me', apiVersion: `${group}/v2` }])
  const read = await call(server, { path: path('v2', 'x') })
  t.match(read.body, { apiVersion: `${group}/v2`, a: '1' })
  t.notOk('b' in read.body)
})

t.test('after the storage version changed, old objects speak the version asked for', async (t) => {
  const { server, create } = await start(t)
  await create('v1', 'old', { a: '1' })
  const versions = [version('v1', false, ['a']), version('v2', true, ['a', 'b'])]
  const changed = await call(server, {
    method: 'PATCH',
    path: `${crds}/notes.${group}`,
    headers: merge,
    body: { spec: { versions } },
  })
  t.same(changed.body.status.storedVersions, ['v1', 'v2'])
  for (const v of ['v1', 'v2']) {
    const { body } = await call(server, { path: path(v, 'old') })
    t.match(body, { apiVersion: `${group}/${v}`, kind: 'Note', a: '1' })
  }
  const patched = await call(server, {
    method: 'PATCH',
    path: path('v2', 'old'),
    headers: merge,
    body: { b: '2' },
  })
  t.match(patched.body, { apiVersion: `${group}/v2`, a: '1', b: '2' })
  const { body: list } = await call(server, { path: path('v1') })
  t.match(list, { apiVersion: `${group}/v1`, items: [{ apiVersion: `${group}/v1`, a: '1' }] })
  t.notOk('b' in list.items[0], 'the other version does not know it')
})

t.test('what names another version, or none, is refused as recorded', async (t) => {
  const { server, create } = await start(t)
  await create('v1', 'x', { a: '1' })
  const json = { 'content-type': 'application/json' }
  const kind = 'Note'
  const expected = `${group}/v1`
  const noVersion = `the API version in the data () does not match the expected API version (${expected})`
  for (const [method, name, body, code, message] of [
    ['POST', '', { kind }, 400, noVersion],
    ['POST', '', { kind, apiVersion: '' }, 400, noVersion],
    [
      'POST',
      '',
      { kind, apiVersion: null },
      400,
      'Note in version "" cannot be handled as a Note: .apiVersion accessor error: <nil> is of the type <nil>, expected string',
    ],
    [
      'POST',
      '',
      null,
      400,
      "the object provided is unrecognized (must be of type Note): Object 'Kind' is missing in 'null' (6e756c6c)",
    ],
    [
      'POST',
      '',
      { n: 2n ** 63n },
      400,
      `the object provided is unrecognized (must be of type Note): Object 'Kind' is missing in '{"n":9223372036854775808}' ({"n":9223372036854775808})`,
    ],
    [
      'PATCH',
      'x',
      { apiVersion: 'y/v1' },
      422,
      `Note.y "x" is invalid: apiVersion: Invalid value: "y/v1": must be ${expected}`,
    ],
    [
      'PATCH',
      'x',
      { apiVersion: null },
      500,
      "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
    ],
  ] as const) {
    const headers = method === 'POST' ? json : merge
    const answer = await call(server, { method, path: path('v1', name), headers, body })
    t.match(answer.body, { code, message }, `${method} ${write(body)}`)
  }
})

t.test('what is patched into another version is read by the schema of that', async (t) => {
  const { server, create } = await start(t)
  await create('v1', 'x', { a: '1' })
  const patch = async (apiVersion: string, query = '', more: object = {}) => {
    const patched = { path: path('v1', 'x') + query, headers: merge, body: { apiVersion, ...more } }
    const { headers, body } = await call(server, { method: 'PATCH', ...patched })
    return { warning: headers.warning, message: body.message as string }
  }
  const refused = (version: string): string =>
    `Note.${group} "x" is invalid: apiVersion: Invalid value: "${group}/${version}": must be ${group}/v1`
  const unknown = '299 - "unknown field \\"a\\""'
  t.same(await patch(`${group}/v2`), { warning: undefined, message: refused('v2') })
  t.same(await patch(`${group}/v9`), { warning: unknown, message: refused('v9') })
  t.same((await patch(`${group}/v2`, '', { b: '1' })).warning, undefined, 'it has another field')
  t.same((await patch(`${group}/v7`)).warning, undefined, 'it need not be served')
  t.match((await patch('y/v9')).warning, undefined, 'another group has no schema')
  const strict = await patch(`${group}/v9`, '?fieldValidation=Strict')
  t.match(strict.message, /strict decoding error: unknown field "a"$/)
})

t.test('a Scale of a custom resource is one of autoscaling/v1 and not applied', async (t) => {
  const { server, create } = await start(t)
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
  const spec = { type: 'object', properties: { replicas: { type: 'integer' } } }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  const versions = [{ ...version('v1', true, []), schema, subresources: { scale } }]
  await call(server, {
    method: 'PATCH',
    path: `${crds}/notes.${group}`,
    headers: merge,
    body: { spec: { versions } },
  })
  t.equal((await create('v1', 'x', { spec: { replicas: 1 } })).status, 201)
  const answer = (method: string, type: string, apiVersion: string, replicas: number) =>
    call(server, {
      method,
      path: `${path('v1', 'x')}/scale?fieldManager=me&force=true`,
      headers: { 'content-type': `application/${type}` },
      body: { apiVersion, kind: 'Scale', metadata: { name: 'x' }, spec: { replicas } },
    })
  t.match((await answer('PUT', 'json', 'autoscaling/v2', 2)).body, {
    code: 400,
    message: 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"',
  })
  t.match((await answer('PATCH', 'apply-patch+yaml', 'autoscaling/v1', 2)).body, {
    code: 500,
    message:
      'failed to convert new object (/x; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1',
  })
  t.equal((await answer('PATCH', 'apply-patch+yaml', 'autoscaling/v1', 1)).status, 200)
  t.equal((await answer('PUT', 'json', 'autoscaling/v1', 2)).status, 200)
  const reset = { metadata: { managedFields: [{}] } }
  await call(server, { method: 'PATCH', path: path('v1', 'x'), headers: merge, body: reset })
  t.match((await answer('PATCH', 'apply-patch+yaml', 'autoscaling/v1', 2)).body, {
    code: 500,
    message:
      'failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1',
  })
})

t.test(
  'what is written in another version shows the defaults of the storage version',
  async (t) => {
    const { server, create } = await start(t)
    const before = await create('v2', 'before', {})
    t.notOk('a' in before.body)
    const op = 'add'
    const at = '/spec/versions/0/schema/openAPIV3Schema/properties/a/default'
    await call(server, {
      method: 'PATCH',
      path: `${crds}/notes.${group}`,
      headers: { 'content-type': 'application/json-patch+json' },
      body: [{ op, path: at, value: 'given' }],
    })
    const old = { path: path('v2', 'before') }
    await answerThat(server, old, 'has the default', ({ body }) => body.a === 'given')
    const { status, body } = await create('v2', 'after', {})
    t.equal(status, 201)
    t.equal(body.a, 'given')
    const patched = await call(server, {
      method: 'PATCH',
      path: path('v2', 'after'),
      headers: merge,
      body: { metadata: { labels: { l: 'x' } }, a: null },
    })
    t.match(patched.body, { a: 'given', metadata: { labels: { l: 'x' } } })
  },
)

t.test('a write that changes nothing is one where less would be stored', async (t) => {
  const { server, create } = await start(t)
  const versions = [version('v1', false, ['a']), version('v2', true, ['a', 'b'])]
  const send = async (v: string, body: object = {}) => {
    const headers = merge
    const answer = await call(server, { method: 'PATCH', path: path(v, 'x'), headers, body })
    return answer.body.metadata.resourceVersion
  }
  await call(server, {
    method: 'PATCH',
    path: `${crds}/notes.${group}`,
    headers: merge,
    body: { spec: { versions } },
  })
  const { body } = await create('v2', 'x', { a: '1', b: '2' })
  const { resourceVersion } = body.metadata
  t.equal(await send('v2'), resourceVersion)
  const less = await send('v1')
  t.not(less, resourceVersion, 'what v1 does not know goes')
  t.equal(await send('v1'), less)
  t.notOk('b' in (await call(server, { path: path('v2', 'x') })).body)
})

t.test(
  'a body is held against the version that it says to be of, wherever it is sent',
  async (t) => {
    const { server } = await start(t)
    const send = (fieldValidation: string, apiVersion: string, kind = 'Note', metadata = {}) =>
      call(server, {
        method: 'POST',
        path: `${path('v2')}?fieldValidation=${fieldValidation}`,
        body: { apiVersion, kind, metadata: { name: 'x', ...metadata }, a: '1', b: '2' },
      })
    const cases: [apiVersion: string, unknown: string | undefined][] = [
      [`${group}/v1`, 'unknown field "b"'],
      [`${group}/v3`, 'unknown field "a", unknown field "b"'],
      ['elsewhere/v1', undefined],
    ]
    for (const [said, unknown] of cases) {
      const warned = await send('Warn', said)
      const other = `the API version in the data (${said}) does not match the expected API version (${group}/v2)`
      t.strictSame([warned.status, warned.body.message], [400, other])
      const warnings = unknown?.split(', ').map((one) => `299 - ${JSON.stringify(one)}`)
      t.equal(warned.headers.warning, warnings?.join(', '))
      const { message } = (await send('Strict', said)).body
      const version = said.split('/')[1]
      t.equal(
        message,
        unknown === undefined
          ? other
          : `Note in version "${version}" cannot be handled as a Note: strict decoding error: ${unknown}`,
      )
    }
    const kind = await send('Strict', `${group}/v2`, 'Other')
    t.match(kind.body.message, 'kind: Invalid value: "Other": must be Note')
    const strict = await send('Strict', `${group}/v2`, 'Other', { bogus: 1 })
    t.equal(
      strict.body.message,
      'Other in version "v2" cannot be handled as a Other: strict decoding error: unknown field "metadata.bogus"',
    )
  },
)

t.test('a decoding error names the kind in the body', async (t) => {
  const { server } = await start(t)
  const body = { apiVersion: `${group}/v1`, kind: 'Other', metadata: { finalizers: 'x' } }
  const { status, body: answer } = await call(server, { method: 'POST', path: path('v1'), body })
  t.strictSame(
    [status, answer.message],
    [
      400,
      'Other in version "v1" cannot be handled as a Note: json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string',
    ],
  )
})

t.test('an object that is stored in a removed version is an error, not shown', async (t) => {
  const { server, create } = await start(t)
  await create('v1', 'old', { a: '1' })
  const change = async (path: string, body: object) => {
    const { status } = await call(server, { method: 'PATCH', path, headers: merge, body })
    t.equal(status, 200)
  }
  const definition = `${crds}/notes.${group}`
  const stored = version('v2', true, ['a', 'b'])
  await change(definition, { spec: { versions: [version('v1', false, ['a']), stored] } })
  await create('v2', 'new', { a: '1' })
  await change(`${definition}/status`, { status: { storedVersions: ['v2'] } })
  await change(definition, { spec: { versions: [stored] } })
  const problem = `request to convert CR from an invalid group/version: ${group}/v1`
  const reinitializing = `storage is (re)initializing: failed to list ${group}/v2, Kind=Note: ${problem}`
  const told = async (name: string, method = 'GET', body?: object) => {
    const headers = method === 'PATCH' ? merge : {}
    const answer = await call(server, { method, path: path('v2', name), headers, body })
    return [answer.status, answer.body.message]
  }
  t.strictSame(await told('new'), [200, undefined])
  t.strictSame(await told('old'), [500, problem])
  t.strictSame(await told('old', 'PATCH', { b: '2' }), [500, problem])
  t.strictSame(await told('old', 'DELETE'), [500, problem])
  t.strictSame(await told(''), [429, reinitializing])
  const taken = await create('v2', 'old', {})
  t.strictSame([taken.status, taken.body.reason], [409, 'AlreadyExists'])
  await change(definition, { spec: { versions: [version('v1', false, ['a']), stored] } })
  t.strictSame(await told('old'), [200, undefined], 'it is there again with its version')
})
