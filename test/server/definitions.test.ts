/** What definitions of custom resources do to the rest of the API while they come, change and go. */
import t, { type Test } from 'tap'
import { clockPath } from '#api/movable-clock.js'
import { eventually } from '../eventually.js'
import { definitionOf, versionOf } from './definition-body.js'
import { answerThat, call, isServed, openWatch, startServer } from './start-server.js'

const group = 'lives.example.com'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widgets = `/apis/${group}/v1/namespaces/default/widgets`

/** With one version. */
const clusterWide = (plural: string, kind: string, schema: object = { type: 'object' }) =>
  definitionOf({
    group,
    scope: 'Cluster',
    names: { plural, kind },
    versions: [versionOf('v1', schema)],
  })

interface Answer {
  status?: object
  code?: number
  metadata: object
}

const startWithWidgets = async (t: Test) => {
  const server = await startServer(t, { storage: 'memory:' })
  const send = (method: string, path: string, body?: object) =>
    call(server, {
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(method === 'PATCH'
        ? { headers: { 'content-type': 'application/merge-patch+json' } }
        : {}),
    })
  const until = async (path: string, holds: (body: Answer) => boolean) => {
    // Where nothing is served yet, the answer is a text.
    const isIt = ({ body }: { body: unknown }) => typeof body === 'object' && holds(body as Answer)
    return (await answerThat(server, { path }, String(holds), isIt)).body
  }
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const definition = definitionOf({
    group,
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [versionOf('v1', schema)],
  })
  await send('POST', definitions, definition)
  await until(widgets, ({ status }) => status === undefined)
  const setSchema = (openAPIV3Schema: object) =>
    send('PATCH', `${definitions}/widgets.${group}`, {
      spec: { versions: [versionOf('v1', openAPIV3Schema)] },
    })
  return { server, send, until, setSchema }
}

t.test('discovery tells of reads and deletes alone while a definition goes', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget' }
  await send('POST', widgets, { ...widget, metadata: { name: 'a', finalizers: ['e.com/x'] } })
  const verbs = async () => (await send('GET', `/apis/${group}/v1`)).body.resources[0].verbs
  t.ok((await verbs()).includes('create'))
  await send('DELETE', `${definitions}/widgets.${group}`)
  await until(`${definitions}/widgets.${group}`, ({ status }) =>
    JSON.stringify(status).includes('InstanceDeletionInProgress'),
  )
  t.strictSame(await verbs(), ['delete', 'deletecollection', 'get', 'list', 'watch'])
  const labelled = await send('PATCH', `${widgets}/a`, { metadata: { labels: { a: 'b' } } })
  t.equal(labelled.status, 200, 'what is there may still be changed')
  const unnamed = await send('POST', widgets, { ...widget, metadata: { generateName: 'b-' } })
  t.equal(
    unnamed.body.message,
    `widgets.${group} is forbidden: create not allowed while custom resource definition is terminating`,
  )
  await send('PATCH', `${widgets}/a`, { metadata: { finalizers: null } })
})

t.test('a changed definition shows no events from before it', async (t) => {
  const { server, send, until, setSchema } = await startWithWidgets(t)
  const make = async (name: string): Promise<string> => {
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name }, spec: {} }
    return (await send('POST', widgets, widget)).body.metadata.resourceVersion
  }
  const watch = async (version: string, count: number) => {
    const lines = await openWatch(t, server, `${widgets}?watch=1&resourceVersion=${version}`).lines(
      count,
    )
    return lines.map((line) => JSON.parse(line))
  }
  const before = await make('a')
  await send('PATCH', `${definitions}/widgets.${group}`, { metadata: { labels: { a: 'b' } } })
  await make('b')
  const [added] = await watch(before, 1)
  t.equal(added.object.metadata.name, 'b', 'a label of the definition changes nothing')
  const defaulted = { type: 'string', default: 'x' }
  const spec = { type: 'object', properties: { shown: defaulted } }
  const changed = await setSchema({ type: 'object', properties: { spec } })
  await until(`${widgets}/a`, (body) => 'spec' in body && JSON.stringify(body.spec).includes('x'))
  const [refused] = await watch(before, 1)
  const { resourceVersion } = changed.body.metadata
  t.equal(refused.type, 'ERROR')
  t.equal(refused.object.code, 410)
  t.equal(
    refused.object.message,
    `too old resource version: ${before} (${resourceVersion})`,
    'upstream has a new cache now',
  )
  await make('c')
  const [next] = await watch(resourceVersion, 1)
  t.equal(next.object.metadata.name, 'c')
})

t.test(
  'a definition takes its objects with it, and goes when the last of them is gone',
  async (t) => {
    const { send, until } = await startWithWidgets(t)
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget' }
    await send('POST', widgets, { ...widget, metadata: { name: 'free' } })
    await send('POST', widgets, { ...widget, metadata: { name: 'held', finalizers: ['e.com/x'] } })
    await send('DELETE', `${definitions}/widgets.${group}`)
    const gone = await until(`${widgets}/free`, ({ status }) => status !== undefined)
    t.equal(gone.code, 404)
    const held = await until(`${widgets}/held`, ({ metadata }) => 'deletionTimestamp' in metadata)
    t.equal(held.metadata.deletionGracePeriodSeconds, 0)
    await send('PATCH', `${widgets}/held`, { metadata: { finalizers: null } })
    const definition = `${definitions}/widgets.${group}`
    t.equal((await until(definition, ({ code }) => code === 404)).reason, 'NotFound')
  },
)

t.test(
  'who owns in a version that no definition has makes the owners of an update unknown',
  async (t) => {
    const { send } = await startWithWidgets(t)
    const entry = (manager: string, apiVersion: string) => ({
      ...{ manager, operation: 'Update', apiVersion, fieldsType: 'FieldsV1' },
      fieldsV1: { 'f:x': {} },
    })
    const make = async (apiVersion: string) =>
      (
        await send('POST', widgets, {
          apiVersion: `${group}/v1`,
          kind: 'Widget',
          metadata: { generateName: 'w-', managedFields: [entry('x', apiVersion)] },
          spec: {},
        })
      ).body.metadata.managedFields
    t.equal(await make('v1'), undefined, 'another group')
    t.equal(await make(`${group}/v9`), undefined, 'another version')
    t.equal((await make(`${group}/v1`)).length, 2)
  },
)

t.test('a definition is served by its accepted names while its new ones clash', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const of = (plural: string) => `${definitions}/${plural}.${group}`
  const { spec } = (await send('GET', of('widgets'))).body
  await send('POST', definitions, {
    metadata: { name: `gadgets.${group}` },
    spec: { ...spec, names: { plural: 'gadgets', kind: 'Gadget', shortNames: ['g'] } },
  })
  await until(`/apis/${group}/v1/gadgets`, ({ status }) => status === undefined)
  await send('PATCH', of('widgets'), { spec: { names: { shortNames: ['g'] } } })
  await until(of('widgets'), ({ status }) => JSON.stringify(status).includes('ShortNamesConflict'))
  t.equal((await send('GET', widgets)).status, 200)
  const { resources } = (await send('GET', `/apis/${group}/v1`)).body
  t.strictSame(
    resources
      .map(({ name, shortNames = [] }: { name: string; shortNames?: string[] }) => [
        name,
        ...shortNames,
      ])
      .sort(),
    [['gadgets', 'g'], ['widgets']],
  )
  await send('PATCH', of('gadgets'), { spec: { names: { shortNames: null } } })
  await until(of('widgets'), ({ status }) => JSON.stringify(status).includes('"shortNames":["g"]'))
  const wrong = { status: { acceptedNames: { kind: 'no_kind' } } }
  const { body } = await send('PATCH', `${of('widgets')}/status`, wrong)
  t.equal(body.details?.causes?.[0].field, 'status.acceptedNames.kind')
})

t.test('a definition that another finalizer holds tells that its objects are gone', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const widget = `${definitions}/widgets.${group}`
  await send('PATCH', widget, { metadata: { finalizers: ['e.com/x'] } })
  await send('DELETE', widget)
  const isReleased = (body: Answer) =>
    JSON.stringify(body.metadata).includes('["e.com/x"]') &&
    JSON.stringify(body.metadata).includes('deletionTimestamp')
  const { status } = (await until(widget, isReleased)) as { status?: { conditions?: object[] } }
  t.match(status?.conditions?.at(-1), {
    type: 'Terminating',
    status: 'False',
    reason: 'InstanceDeletionCompleted',
    message: 'removed all instances',
  })
  const late = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'late' } }
  const taken = await send('POST', widgets, late)
  t.equal(taken.status, 201, 'it takes objects again')
})

t.test(
  'who may refuse deletes is not asked when a definition takes its objects along',
  async (t) => {
    const { send, until } = await startWithWidgets(t)
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic'
    const rule = {
      apiGroups: [group],
      apiVersions: ['v1'],
      resources: ['*'],
      operations: ['DELETE'],
    }
    await send('POST', `${policies}ies`, {
      metadata: { name: 'keep' },
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false' }] },
    })
    const spec = { policyName: 'keep', validationActions: ['Deny'] }
    await send('POST', `${policies}ybindings`, { metadata: { name: 'keep' }, spec })
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } }
    await send('POST', widgets, widget)
    await eventually('the policy to be in force', async () => {
      if ((await send('DELETE', `${widgets}/a`)).status === 422) return true
      await send('POST', widgets, widget)
      return false
    })
    const definition = `${definitions}/widgets.${group}`
    await send('DELETE', definition)
    t.equal((await until(definition, ({ code }) => code === 404)).reason, 'NotFound')
  },
)

t.test('a definition that goes takes other names until it is gone', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const metadata = { name: 'held', finalizers: ['e.com/x'] }
  await send('POST', widgets, { apiVersion: `${group}/v1`, kind: 'Widget', metadata })
  const definition = `${definitions}/widgets.${group}`
  await send('DELETE', definition)
  await send('PATCH', definition, { spec: { names: { shortNames: ['wi'] } } })
  await until(definition, ({ status }) => JSON.stringify(status).includes('"shortNames":["wi"]'))
  await send('PATCH', `${widgets}/held`, { metadata: { finalizers: null } })
  t.equal((await until(definition, ({ code }) => code === 404)).reason, 'NotFound')
})

t.test('the server of custom resources takes HEAD for GET', async (t) => {
  const { send } = await startWithWidgets(t)
  t.equal((await send('HEAD', widgets)).status, 200)
  t.equal((await send('HEAD', `${widgets}/none`)).status, 404)
  t.equal((await send('HEAD', '/api/v1/namespaces/default/configmaps')).status, 405)
})

t.test('any number of definitions may wait for their objects at once', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const warnings: Error[] = []
  const warned = (warning: Error) => warnings.push(warning)
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  const gadgets = Array.from({ length: 12 }, (_, i) => `gadget${i}`)
  for (const gadget of gadgets) {
    await send('POST', definitions, clusterWide(`${gadget}s`, gadget))
    const objects = `/apis/${group}/v1/${gadget}s`
    await until(objects, ({ status }) => status === undefined)
    const metadata = { name: 'held', finalizers: ['e.com/x'] }
    await send('POST', objects, { apiVersion: `${group}/v1`, kind: gadget, metadata })
    await send('DELETE', `${definitions}/${gadget}s.${group}`)
    await until(`${objects}/held`, (held) => 'deletionTimestamp' in held.metadata)
  }
  for (const gadget of gadgets) {
    const held = `/apis/${group}/v1/${gadget}s/held`
    await send('PATCH', held, { metadata: { finalizers: null } })
    await until(`${definitions}/${gadget}s.${group}`, ({ code }) => code === 404)
  }
  t.strictSame(warnings, [])
})

t.test('a conversion whose webhook says nothing has none', async (t) => {
  const { send } = await startWithWidgets(t)
  const { body } = await send('PATCH', `${definitions}/widgets.${group}`, {
    spec: { conversion: { strategy: 'None', webhook: {} } },
  })
  t.strictSame(body.spec.conversion, { strategy: 'None' })
})

t.test(
  'what stands twice in a body is told of where it stands, and embedded metadata last',
  async (t) => {
    const { send, setSchema } = await startWithWidgets(t)
    const embedded = {
      ...{ type: 'object', 'x-kubernetes-embedded-resource': true },
      'x-kubernetes-preserve-unknown-fields': true,
    }
    await setSchema({ type: 'object', properties: { a: embedded } })
    const head = `"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"a"}`
    const inner = '{"apiVersion":"v1","kind":"X","metadata":{"no":1}}'
    const body = JSON.parse(`{${head},"a":${inner},"z":{}}`)
    const strict = `${widgets}?fieldValidation=Strict`
    t.match(
      (await send('POST', strict, { ...body, '\0"': 1 })).body.message,
      'unknown field "\0""',
      'as it stands',
    )
    t.match(
      (await send('POST', strict, body)).body.message,
      /strict decoding error: unknown field "z", unknown field "a.metadata.no"$/,
    )
  },
)

t.test('the OpenAPI document of a group that goes is not kept', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const document = `/openapi/v3/apis/${group}/v1`
  const path = `${definitions}/widgets.${group}`
  const first = await send('GET', document)
  const { apiVersion, kind, spec } = (await send('GET', path)).body
  await send('DELETE', path)
  await eventually('the document goes', async () => (await send('GET', document)).status === 404)
  await send('POST', clockPath, { advance: '1h' })
  await send('POST', definitions, {
    apiVersion,
    kind,
    metadata: { name: `widgets.${group}` },
    spec,
  })
  await until(widgets, ({ status }) => status === undefined)
  const second = await send('GET', document)
  t.same(second.bytes, first.bytes)
  t.not(second.headers['last-modified'], first.headers['last-modified'], 'it was made anew')
})

t.test('the OpenAPI document of a custom kind spells out what its extensions mean', async (t) => {
  const { send } = await startWithWidgets(t)
  const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true, required: ['spec'] }
  const part = { ...embedded, properties: { spec: { type: 'object' } } }
  const properties = {
    a: { type: 'string' },
    port: { 'x-kubernetes-int-or-string': true },
    parts: { type: 'array', items: part },
  }
  const selectableFields = [{ jsonPath: '.a' }]
  const versions = [versionOf('v1', { type: 'object', properties }, { selectableFields })]
  await send('PATCH', `${definitions}/widgets.${group}`, { spec: { versions } })
  const { components, paths } = (await send('GET', `/openapi/v3/apis/${group}/v1`)).body
  const [kind, list] = ['Widget', 'WidgetList'].map(
    (k) => components.schemas[`com.example.lives.v1.${k}`],
  )
  t.same(kind.properties.port.anyOf, [{ type: 'integer' }, { type: 'string' }])
  t.same(kind.properties.parts.items.required, ['spec', 'kind', 'apiVersion'])
  t.same(Object.keys(kind.properties.parts.items.properties).sort(), [
    ...['apiVersion', 'kind', 'metadata', 'spec'],
  ])
  for (const one of [kind, list])
    t.same(one['x-kubernetes-selectable-fields'], [{ fieldPath: 'a' }])
  // As upstream's conformance suite wants it of kubectl explain.
  for (const one of [kind, list])
    t.match(one.properties.apiVersion.description, /^APIVersion defines/)
  const { properties: embeddedProperties } = kind.properties.parts.items
  t.match(embeddedProperties.apiVersion.description, /^apiVersion defines.*#resources$/)
  t.match(embeddedProperties.kind.description, /^kind is a string.*#types-kinds$/)
  t.match(kind.properties.metadata.description, /^Standard object's metadata/)
  t.match(list.properties.metadata.description, /^Standard list metadata/)
  const { get, put } = paths[`/apis/${group}/v1/namespaces/{namespace}/widgets/{name}`]
  t.ok(get.parameters.some(({ name }: { name: string }) => name === 'resourceVersion'))
  t.same(Object.keys(put.requestBody.content), ['application/json', 'application/yaml'])
})

t.test("a custom resource's name is looked at before what else it says it is", async (t) => {
  const { send } = await startWithWidgets(t)
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } }
  await send('POST', widgets, widget)
  for (const [method, body] of [
    ['PATCH', { apiVersion: '', metadata: { name: 'b' } }],
    ['PATCH', { kind: 'Other', metadata: { name: 'b' } }],
    ['PUT', { ...widget, kind: 'Other', metadata: { name: 'b' } }],
  ] as const) {
    const { status, body: answer } = await send(method, `${widgets}/a`, body)
    t.equal(status, 400, JSON.stringify(body))
    t.equal(answer.message, 'the name of the object (b) does not match the name on the URL (a)')
  }
  const { body } = await send('POST', widgets, { ...widget, kind: 'Other', metadata: {} })
  const { causes } = body.details
  t.strictSame(
    causes.map(({ field }: { field: string }) => field),
    ['kind'],
    'nor its metadata',
  )
})

t.test('the kind and apiVersion of a custom resource are read as they are written', async (t) => {
  const { send } = await startWithWidgets(t)
  const metadata = { name: 'a' }
  const of = async (body: object) =>
    (await send('POST', widgets, { ...body, metadata })).body.message
  t.match(await of({ Kind: 'Widget', apiVersion: `${group}/v1` }), /Object 'Kind' is missing in/)
  const otherThan = (said: string) =>
    `the API version in the data (${said}) does not match the expected API version (${group}/v1)`
  t.equal(await of({ kind: 'Widget', APIVERSION: `${group}/v1` }), otherThan(''))
  t.equal(await of({ kind: 'Widget', apiVersion: '/v1' }), otherThan('v1'))
  const maps = '/api/v1/namespaces/default/configmaps'
  const foreign = { kind: 'Widget', apiVersion: `${group}/v1`, metadata }
  t.match((await send('POST', maps, foreign)).body.message, /no kind "Widget" is registered for/)
})

t.test('a patch that takes the kind away is printed with its keys in order', async (t) => {
  const { send } = await startWithWidgets(t)
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } }
  await send('POST', widgets, { ...widget, spec: { z: 1, a: 2 } })
  const { body } = await send('PATCH', `${widgets}/a`, { kind: '' })
  t.match(
    body.message,
    /: Object 'Kind' is missing in '\{"apiVersion":"[^"]*","kind":"","metadata":\{"creationTimestamp":.*"uid":"[^"]*"\},"spec":\{"a":2,"z":1\}\}'$/,
  )
})

t.test('a definition and an APIService are stored as JSON: an empty list stays one', async (t) => {
  const { send } = await startWithWidgets(t)
  const path = `${definitions}/widgets.${group}`
  const { status, body } = await send('PATCH', `${path}/status`, { status: { conditions: [] } })
  t.equal(status, 200)
  t.strictSame(body.status.conditions, [])
  t.strictSame((await send('GET', path)).body.status.storedVersions, ['v1'])
})

t.test('an apply of a custom resource keeps what its schema has a place for', async (t) => {
  const server = await startServer(t, { storage: 'memory:' })
  const open = { type: 'object', additionalProperties: true }
  const item = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { known: { type: 'object', properties: { a: { type: 'string' } } } },
  }
  const properties = {
    open,
    either: { 'x-kubernetes-int-or-string': true, default: 1 },
    items: { type: 'array', items: item },
  }
  const schema = { type: 'object', properties: { spec: { type: 'object', properties } } }
  const body = clusterWide('things', 'Thing', schema)
  await call(server, { method: 'POST', path: definitions, body })
  const things = `/apis/${group}/v1/things`
  await isServed(server, things)
  const apply = (spec: object) =>
    call(server, {
      method: 'PATCH',
      path: `${things}/a?fieldManager=m&fieldValidation=Strict`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' }, spec },
    })
  const made = await apply({
    open: { known: { inner: 1 }, list: [{ b: 1 }] },
    items: [{ any: 1, known: { a: 'x', b: 2 } }],
  })
  t.equal(made.status, 201)
  t.strictSame(made.body.spec, {
    open: { known: {}, list: [{}] },
    either: 1,
    items: [{ any: 1, known: { a: 'x' } }],
  })
  const refused = await apply({ either: {} })
  t.equal(refused.status, 422, 'the merge takes any value for an integer or a string')
  t.match(refused.body.message, 'must be of type integer,string: "object"')
})

t.test('a format that does not fit its type is a warning', async (t) => {
  const server = await startServer(t, { storage: 'memory:' })
  const warningsOf = async (property: object) => {
    const schema = { type: 'object', properties: { n: property } }
    const { status, headers } = await call(server, {
      method: 'POST',
      path: `${definitions}?dryRun=All`,
      body: clusterWide('things', 'Thing', schema),
    })
    t.equal(status, 201)
    return headers.warning
  }
  t.equal(
    await warningsOf({ type: 'number', format: 'int32' }),
    '299 - "unrecognized format \\"int32\\""',
  )
  t.equal(await warningsOf({ type: 'integer', format: 'int32' }), undefined)
  t.equal(await warningsOf({ type: 'string', format: 'ip-v4' }), undefined)
})

t.test(
  'an apply to an object without owners that no longer fits its schema is refused',
  async (t) => {
    const { server, send, setSchema } = await startWithWidgets(t)
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } }
    await send('POST', widgets, { ...widget, spec: { a: true } })
    await send('PATCH', `${widgets}/a`, { metadata: { managedFields: [{}] } })
    const a = { type: 'array', items: { type: 'string' } }
    const spec = { type: 'object', properties: { a } }
    await setSchema({ type: 'object', properties: { spec } })
    const apply = {
      method: 'PATCH',
      path: `${widgets}/a?fieldManager=m&dryRun=All`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: widget,
    }
    const refusal = await answerThat(server, apply, 'is refused', (a) => a.status !== 200)
    t.equal(refusal.status, 500)
    t.equal(
      refusal.body.message,
      `failed to create manager for existing fields: failed to convert new object (default/a; ${group}/v1, Kind=Widget) to smd typed: .spec.a: expected list, got &{true}`,
    )
  },
)

t.test('an update may keep an invalid item of a list that it does not touch', async (t) => {
  const { server, send, setSchema } = await startWithWidgets(t)
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } }
  await send('POST', widgets, { ...widget, spec: { list: [{ name: 'UP' }], n: 1 } })
  const name = { type: 'string', pattern: '^[a-z]+$' }
  const list = { type: 'array', items: { type: 'object', properties: { name } } }
  const spec = { type: 'object', properties: { list, n: { type: 'integer' } } }
  const more = { type: 'string' }
  await setSchema({ type: 'object', properties: { spec, more }, required: ['more'] })
  const bad = { ...widget, metadata: { name: 'b' }, spec: { list: [{ name: 'UP' }] } }
  const create = { method: 'POST', path: `${widgets}?dryRun=All`, body: bad }
  await answerThat(server, create, 'is refused', ({ status }) => status === 422)
  const labelled = await send('PATCH', `${widgets}/a`, { metadata: { labels: { a: 'b' } } })
  t.match(labelled.body.message, 'more: Required value', 'which is a change of the whole')
  const kept = await send('PATCH', `${widgets}/a`, { spec: { n: 2 }, more: 'x' })
  t.equal(kept.status, 200, kept.text)
  const changed = { list: [{ name: 'UP' }, { name: 'b' }] }
  const { status, body } = await send('PATCH', `${widgets}/a`, { spec: changed })
  t.equal(status, 422)
  t.match(body.message, 'spec.list[0].name')
})

t.test('a deprecated version says so with every answer, of what it has not, too', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const path = `${definitions}/widgets.${group}`
  const { spec } = (await send('GET', path)).body
  const [version] = spec.versions
  await send('PATCH', path, { spec: { versions: [{ ...version, deprecated: true }] } })
  await until(path, ({ metadata }) => (metadata as { generation: number }).generation === 2)
  const told = async (at: string) => (await send('GET', at)).headers.warning
  const warning = await eventually('a warning', () => told(widgets))
  t.equal(warning, `299 - "${group}/v1 Widget is deprecated"`)
  t.equal(await told(`${widgets}/none/scale`), warning)
})

const specOf = (a: object) => ({
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { a } },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
})
const ownersOf = ({ metadata }: { metadata: { managedFields?: { fieldsV1: object }[] } }) =>
  metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)

t.test('the creator owns the status, unless that is a subresource', async (t) => {
  const { send } = await startWithWidgets(t)
  const plain = versionOf('v1', specOf({ type: 'string' }))
  const split = { ...plain, subresources: { status: {} } }
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } }
  const body = { ...widget, spec: { a: 'x' }, status: { s: 1 } }
  const ofSpec = { 'f:spec': { '.': {}, 'f:a': {} } }
  for (const [version, owned] of [
    [plain, { ...ofSpec, 'f:status': { '.': {}, 'f:s': {} } }],
    [split, ofSpec],
  ] as const) {
    await send('PATCH', `${definitions}/widgets.${group}`, { spec: { versions: [version] } })
    t.same(ownersOf((await send('POST', widgets, body)).body), [owned])
    await send('DELETE', `${widgets}/a`)
  }
})

t.test('what does not fit its schema any more has no owners after an update', async (t) => {
  const { send, setSchema } = await startWithWidgets(t)
  await setSchema(specOf({ type: 'string' }))
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } }
  await send('POST', widgets, { ...widget, spec: { a: 'x' } })
  await setSchema(specOf({ type: 'object', properties: { b: { type: 'string' } } }))
  const { status, body } = await send('PATCH', `${widgets}/a`, { metadata: { labels: { l: '1' } } })
  t.equal(status, 200, 'what was wrong before may stay so')
  t.equal(ownersOf(body), undefined)
})

t.test(
  'a definition that changes ends the watches of its objects, one told again does not',
  async (t) => {
    const { send, server, setSchema } = await startWithWidgets(t)
    const watch = () => openWatch(t, server, `${widgets}?watch=true&timeoutSeconds=3600`)
    const first = watch()
    await send('PATCH', `${definitions}/widgets.${group}`, { metadata: { labels: { a: 'b' } } })
    await send('POST', widgets, {
      apiVersion: `${group}/v1`,
      kind: 'Widget',
      metadata: { name: 'seen' },
    })
    t.match(await first.lines(1), [/"name":"seen"/], 'labels end nothing')
    await setSchema({ type: 'object', properties: { a: { type: 'string' } } })
    await first.ended
    t.match(await watch().lines(1), [/"name":"seen"/], 'the next watch begins')
  },
)

t.test('replicas of an object of the cluster are patched', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const plural = 'racks'
  const { metadata, spec } = clusterWide(plural, 'Rack')
  const replicas = { type: 'object', properties: { replicas: { type: 'integer' } } }
  const version = versionOf(
    'v1',
    { type: 'object', properties: { spec: replicas, status: replicas } },
    {
      subresources: {
        scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
      },
    },
  )
  await send('POST', definitions, { metadata, spec: { ...spec, versions: [version] } })
  const racks = `/apis/${group}/v1/${plural}`
  await until(racks, ({ status }) => status === undefined)
  await send('POST', racks, {
    apiVersion: `${group}/v1`,
    kind: 'Rack',
    metadata: { name: 'r' },
    spec: { replicas: 1 },
  })
  const scaled = await send('PATCH', `${racks}/r/scale`, { spec: { replicas: 3 } })
  t.match(scaled, { status: 200, body: { spec: { replicas: 3 }, status: { replicas: 0 } } })
  t.equal((await send('GET', `${racks}/r`)).body.spec.replicas, 3)
})

t.test('a condition tells what the approval of a group of the community says', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const of = (annotation: string) => ({
    ...definitionOf({
      group: 'lives.k8s.io',
      scope: 'Cluster',
      names: { plural: 'apples', kind: 'Apple' },
      versions: [versionOf('v1', { type: 'object' })],
    }),
    metadata: {
      name: 'apples.lives.k8s.io',
      annotations: { 'api-approved.kubernetes.io': annotation },
    },
  })
  const conditions = async (reason: string) => {
    const { status } = await until(`${definitions}/apples.lives.k8s.io`, ({ status }) =>
      JSON.stringify(status).includes(reason),
    )
    return (status as { conditions: { message: string }[] }).conditions
  }
  const pull = 'https://github.com/kubernetes/kubernetes/pull/78458'
  await send('POST', definitions, of(pull))
  t.match((await conditions('ApprovedAnnotation'))[0], {
    type: 'KubernetesAPIApprovalPolicyConformant',
    status: 'True',
    message: `approved in ${pull}`,
  })
  await send('PATCH', `${definitions}/apples.lives.k8s.io`, of('unapproved, a test'))
  t.match((await conditions('UnapprovedAnnotation'))[0], {
    status: 'False',
    message: 'not approved: "unapproved, a test"',
  })
})

t.test('a definition takes nothing from what is built in', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const networking = '/apis/networking.k8s.io/v1'
  const classes = `${networking}/ingressclasses`
  const resources = async () =>
    (await send('GET', networking)).body.resources.map(({ name }: { name: string }) => name)
  await send('POST', classes, { metadata: { name: 'c' }, spec: { controller: 'a.com/b' } })
  const before = await resources()
  for (const [plural, kind] of [
    ['ingressclasses', 'IngressClass'],
    ['boats', 'Boat'],
  ] as const) {
    const { metadata, spec } = definitionOf({
      group: 'networking.k8s.io',
      scope: 'Cluster',
      names: { plural, kind },
      versions: [versionOf('v1', { type: 'object' })],
    })
    const annotations = { 'api-approved.kubernetes.io': 'unapproved, a test' }
    const path = `${definitions}/${plural}.networking.k8s.io`
    const made = await send('POST', definitions, { metadata: { ...metadata, annotations }, spec })
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
    await until(path, ({ status }) => JSON.stringify(status).includes('InitialNamesAccepted'))
    const wrong = { metadata: { name: 'e' }, spec: { controller: '' } }
    t.equal((await send('POST', classes, wrong)).status, 422)
    t.equal((await send('GET', `${networking}/boats`)).status, 404)
    t.same(await resources(), before)
    await send('DELETE', path)
    await until(path, ({ code }) => code === 404)
    t.equal((await send('GET', `${classes}/c`)).body.spec?.controller, 'a.com/b')
  }
})

t.test('authorities that cannot be read: not established, and not for one that is', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const converted = (caBundle: string) => ({
    conversion: {
      strategy: 'Webhook',
      webhook: {
        clientConfig: { url: 'https://localhost:1/', caBundle },
        conversionReviewVersions: ['v1'],
      },
    },
  })
  const unreadable = Buffer.from('no PEM').toString('base64')
  const { metadata, spec } = clusterWide('gates', 'Gate')
  await send('POST', definitions, { metadata, spec: { ...spec, ...converted(unreadable) } })
  const path = `${definitions}/${metadata.name}`
  await until(path, ({ status }) => JSON.stringify(status).includes('InvalidCABundle'))
  t.match(await send('GET', `/apis/${group}/v1/gates`), {
    status: 500,
    body: { message: 'Internal error occurred: error resolving resource' },
  })
  t.equal((await send('GET', `/apis/${group}/v2/gates`)).status, 404, 'no version of it')
  t.equal((await send('PATCH', path, { spec: converted('') })).status, 200)
  await until(`/apis/${group}/v1/gates`, ({ status }) => status === undefined)
  const refused = await send('PATCH', path, { spec: converted(unreadable) })
  t.equal(refused.status, 422)
  t.match(
    refused.body.message,
    'spec.conversion.webhookClientConfig.caBundle: Invalid value: "bm8gUEVN": unable to load root certificates: unable to parse bytes as PEM block',
  )
})

t.test(
  'an object whose items are a list is stored, and passes for a list that has none',
  async (t) => {
    const { send } = await startWithWidgets(t)
    const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'full' } }
    const asList = {
      status: 500,
      body: { message: '*unstructured.Unstructured is not a list: no Items field in this object' },
    }
    t.match(await send('POST', widgets, { ...widget, items: [] }), asList)
    t.match(await send('GET', `${widgets}/full`), asList)
    t.match(await send('PATCH', `${widgets}/full`, { items: ['a'] }), asList)
    t.match((await send('GET', widgets)).body.items, [{ items: ['a'] }])
    t.equal((await send('PATCH', `${widgets}/full`, { items: 'none' })).status, 200)
  },
)

t.test('a collection of definitions goes at once, and its objects stay behind', async (t) => {
  const { send, until } = await startWithWidgets(t)
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'left' } }
  await send('POST', widgets, widget)
  const { spec } = (await send('GET', `${definitions}/widgets.${group}`)).body
  await send('DELETE', definitions)
  t.equal((await send('GET', `${definitions}/widgets.${group}`)).status, 404)
  await send('POST', definitions, { metadata: { name: `widgets.${group}` }, spec })
  await until(`${widgets}/left`, ({ status }) => status === undefined)
})
