/**
 * What an apply or a policy puts beside the schema of a custom resource is validated and stored, and shown to nobody
 * (apiextensions prunes while it decodes). The answers are those of v1.36.3.
 */
import t, { type Test } from 'tap'
import { eventually } from '../eventually.js'
import { call, isServed, startServer } from './start-server.js'

const group = 'stored.example.com'
const things = (version: string) => `/apis/${group}/${version}/namespaces/default/things`
const text = { type: 'string' }
const spec = (properties: object) => ({
  type: 'object',
  properties: { spec: { type: 'object', properties } },
})

const start = async (t: Test, schemas: Record<string, object>) => {
  const server = await startServer(t, { storage: 'memory:' })
  const send = (method: string, path: string, body?: object, type = 'application/json') =>
    call(server, {
      method,
      path,
      headers: { 'content-type': type },
      ...(body === undefined ? {} : { body }),
    })
  await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: Object.entries(schemas).map(([name, openAPIV3Schema]) => ({
        ...{ name, served: true, storage: name === 'v1' },
        schema: { openAPIV3Schema },
      })),
    },
  })
  await isServed(server, things('v1'))
  const thing = (version: string, content: object, metadata: object = {}) => ({
    apiVersion: `${group}/${version}`,
    kind: 'Thing',
    metadata: { name: 'a', ...metadata },
    ...content,
  })
  const apply = (content: object, { version = 'v1', query = '', metadata = {} } = {}) =>
    send(
      'PATCH',
      `${things(version)}/a?fieldManager=${version}${query}`,
      thing(version, content, metadata),
      'application/apply-patch+yaml',
    )
  const merge = (patch: object, { version = 'v1', query = '' } = {}) =>
    send('PATCH', `${things(version)}/a${query}`, patch, 'application/merge-patch+json')
  return { server, send, thing, apply, merge }
}

t.test(
  'what an apply gives without a place in the schema is validated, written and not shown',
  async (t) => {
    const open = { type: 'object', maxProperties: 2 }
    const { apply, merge, send } = await start(t, { v1: spec({ open, word: text }) })
    const seen = ({
      body: { metadata, spec },
    }: {
      body: { metadata: { generation: number }; spec: object }
    }) => [metadata.generation, spec]
    const version = ({ body }: { body: { metadata: { resourceVersion: string } } }) =>
      body.metadata.resourceVersion

    t.strictSame(seen(await apply({ spec: { open: { a: 1 } } }, { query: '&dryRun=All' })), [
      1,
      { open: {} },
    ])
    const first = await apply({ spec: { open: { a: 1 } } })
    t.strictSame(seen(first), [1, { open: {} }])
    const again = await apply({ spec: { open: { a: 1 } } })
    t.strictSame(seen(again), [2, { open: {} }], 'what nobody reads is new each time')
    t.not(version(again), version(first))
    t.strictSame(seen(await send('GET', `${things('v1')}/a`)), [2, { open: {} }])

    const many = await apply({ spec: { open: { a: 1, b: 2, c: 3 } } })
    t.equal(many.status, 422)
    t.match(many.body.message, 'spec.open: Too many: 3: must have at most 2 items')

    const cleaned = await merge({})
    t.not(version(cleaned), version(again), 'a patch that changes nothing writes what is shown')
    t.equal(version(await merge({})), version(cleaned), 'once')
  },
)

t.test('a dry run in another version answers what a write would', async (t) => {
  const { send, thing, apply, merge } = await start(t, {
    v1: spec({ a: text }),
    v2: spec({ a: text, b: text }),
  })
  const made = thing('v2', { spec: { a: 'x', b: 'y' } })
  for (const query of ['?dryRun=All', ''])
    t.strictSame((await send('POST', things('v2') + query, made)).body.spec, { a: 'x' })
  const inV2 = { version: 'v2', query: '?dryRun=All' }
  t.strictSame((await merge({ spec: { b: 'z' } }, inV2)).body.spec, { a: 'x' })
  const applied = await apply(
    { spec: { b: 'z' } },
    { version: 'v2', query: '&dryRun=All&force=true' },
  )
  t.strictSame(applied.body.spec, { a: 'x' })
})

t.test('an apply may say any time in metadata', async (t) => {
  const { apply } = await start(t, { v1: spec({ a: text }) })
  const times = { creationTimestamp: 'x', deletionTimestamp: 'y' }
  const { status, body } = await apply({ spec: { a: 'x' } }, { metadata: times })
  t.equal(status, 201)
  t.match(body.metadata.creationTimestamp, /^20/)
  t.notHas(body.metadata, { deletionTimestamp: String })
})

t.test('what a policy puts beside the schema is validated, not refused', async (t) => {
  const { send, thing } = await start(t, {
    v1: spec({ open: { type: 'object', maxProperties: 1 }, word: text }),
  })
  const admission = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic'
  const mutate = async (expression: string) => {
    const rule = { apiGroups: [group], apiVersions: ['v1'], resources: ['things'] }
    const resourceRules = [{ ...rule, operations: ['CREATE'] }]
    const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression } }]
    await send('POST', `${admission}ies`, {
      metadata: { name: 'p' },
      spec: { reinvocationPolicy: 'Never', matchConstraints: { resourceRules }, mutations },
    })
  }
  await mutate(
    '[JSONPatch{op: "add", path: "/spec/open", value: {"a": object.spec.word}}, JSONPatch{op: "add", path: "/nowhere", value: 1}]',
  )
  await send('POST', `${admission}ybindings`, {
    metadata: { name: 'p' },
    spec: { policyName: 'p' },
  })
  const make = async () => {
    const { status, body } = await send(
      'POST',
      `${things('v1')}?dryRun=All`,
      thing('v1', { spec: { word: 'w' } }),
    )
    return { status, message: body.message, spec: body.spec, nowhere: body.nowhere }
  }
  const made = await eventually('the policy to be in force', async () => {
    const answer = await make()
    return (answer.status !== 201 || answer.spec?.open !== undefined) && answer
  })
  t.strictSame(made, {
    ...{ status: 201, message: undefined, nowhere: undefined },
    spec: { word: 'w', open: {} },
  })
})

t.test('an apply may leave empty what an embedded object says of itself', async (t) => {
  const embedded = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  }
  const { apply } = await start(t, { v1: spec({ embedded }) })
  const put = async (metadata: unknown) =>
    (await apply({ spec: { embedded: { apiVersion: 'v1', kind: 'K', metadata } } })).body
  const shown = { apiVersion: 'v1', kind: 'K', metadata: {} }
  t.strictSame((await put({ labels: null, creationTimestamp: null })).spec.embedded, shown)
  t.strictSame((await put(null)).spec.embedded, shown)
  t.match((await put({ name: 'a/b' })).message, 'spec.embedded.metadata.name: Invalid value: "a/b"')
  t.match(
    (await put({ creationTimestamp: 'x' })).message,
    /spec.embedded.metadata: Invalid value: .*: parsing time "x"/,
  )
})

t.test('an apply that changes nothing writes no defaults', async (t) => {
  const { apply } = await start(t, {
    v1: spec({ a: text }),
    v2: spec({ a: text, b: { ...text, default: 'B' } }),
  })
  await apply({ spec: { a: 'x' } })
  const { metadata, spec: shown } = (await apply({ spec: {} }, { version: 'v2' })).body
  t.strictSame([shown, metadata.generation], [{ a: 'x' }, 1])
  t.equal(metadata.managedFields.length, 2)
})

t.test(
  'what another version has no place for stops an apply, whether it gives something up or not',
  async (t) => {
    const { apply } = await start(t, { v1: spec({ a: text, x: text }), v2: spec({ x: text }) })
    await apply({ spec: { x: '1' } })
    await apply({ spec: { x: '1' } }, { version: 'v2' })
    for (const given of [{ a: '2' }, { a: '2', x: '1' }])
      t.equal(
        (await apply({ spec: given })).body.message,
        `failed to prune fields: failed add back owned items: failed to convert merged object at version ${group}/v2: .spec.a: field not declared in schema`,
      )
  },
)

t.test('null in labels and annotations that are applied is an empty text', async (t) => {
  const { apply } = await start(t, { v1: spec({}) })
  const metadata = { labels: { none: null, some: 'text' }, annotations: { none: null } }
  t.match(await apply({}, { metadata }), {
    status: 201,
    body: { metadata: { labels: { none: '', some: 'text' }, annotations: { none: '' } } },
  })
})

t.test(
  'a dry run that would remove one answers with a kind alone: it has no Go type',
  async (t) => {
    const { server, send, thing } = await start(t, { v1: spec({}) })
    await send('POST', things('v1'), thing('v1', {}, { finalizers: ['orphan'] }))
    const dry = await send('DELETE', `${things('v1')}/a?dryRun=All&propagationPolicy=Background`)
    t.strictSame(dry.body, { apiVersion: `${group}/v1`, kind: 'Thing' })
    const table = await call(server, {
      method: 'DELETE',
      path: `${things('v1')}/a?dryRun=All&propagationPolicy=Background`,
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    })
    t.strictSame(table.body.rows[0].cells, ['', null])
    const { body } = await send('DELETE', `${things('v1')}/a?propagationPolicy=Background`)
    t.match(body, { kind: 'Status', status: 'Success' })
  },
)
