/** managedFields of custom resources with several versions: each owner is asked in its own. The answers are v1.36.3's. */
import t, { type Test } from 'tap'
import { definitionOf, textsOf, versionOf } from './definition-body.js'
import { answerThat, call, isServed, startServer } from './start-server.js'
import { type Review, startWebhook } from './webhook-server.js'

const group = 'owners.example.com'
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const things = (version: string, rest = '') =>
  `/apis/${group}/${version}/namespaces/default/things${rest && `/${rest}`}`

/** Schemas of v1 and v2: `host` of v1 is `address` in v2. */
const names = { v1: 'host', v2: 'address' } as const
type Name = keyof typeof names

const schemaOf = (field: string) => ({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        ...textsOf([field, 'note']).properties,
        replicas: { type: 'integer' },
        count: { type: 'integer' },
      },
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' } } },
  },
})

const scaleOf = (path: string) => ({
  scale: { specReplicasPath: path, statusReplicasPath: '.status.replicas' },
})

const convert = (object: Review, apiVersion: string): Review => {
  const from = names[object.apiVersion.split('/')[1] as Name]
  const to = names[apiVersion.split('/')[1] as Name]
  const { [from]: value, ...rest } = object.spec ?? {}
  return {
    ...object,
    apiVersion,
    spec: { ...rest, ...(value === undefined ? {} : { [to]: value }) },
  }
}

/** `manager operation version subresource: .spec.host .spec.note`, of every owner. */
const ownersOf = ({ metadata }: Review): string[] => {
  const leaves = (fields: Review, path: string): string[] => {
    const inner = Object.keys(fields).filter((key) => key !== '.')
    if (inner.length === 0) return [path]
    return inner.flatMap((key) => leaves(fields[key], `${path}.${key.replace(/^f:/, '')}`))
  }
  const owners = (metadata.managedFields ?? []).map((entry: Review) =>
    [
      entry.manager,
      entry.operation,
      entry.apiVersion.split('/')[1],
      ...(entry.subresource === undefined ? [] : [entry.subresource]),
      ...leaves(entry.fieldsV1, ''),
    ].join(' '),
  )
  // Their own order is that of their times.
  return owners.sort()
}

const start = async (
  t: Test,
  { versions, isConverted }: { versions: Record<string, object>; isConverted: boolean },
) => {
  let fails = false
  const webhook = await startWebhook(t, ({ request }) =>
    fails
      ? { result: { status: 'Failure', message: 'not today' } }
      : {
          result: { status: 'Success' },
          convertedObjects: request.objects.map((o: Review) =>
            convert(o, request.desiredAPIVersion),
          ),
        },
  )
  const server = await startServer(t)
  const { clientConfig } = webhook
  const conversion = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig },
  }
  const definition = definitionOf({
    group,
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: Object.entries(versions).map(([name, more]) =>
      versionOf(name, schemaOf(isConverted ? names[name as Name] : 'host'), {
        storage: name === 'v1',
        ...more,
      }),
    ),
    ...(isConverted ? { conversion } : {}),
  })
  await call(server, { method: 'POST', path: crds, body: definition })
  await isServed(server, things('v1'))
  const send = (type: string) => (path: string, body: object) =>
    call(server, {
      method: 'PATCH',
      path,
      body,
      headers: { 'content-type': `application/${type}`, 'user-agent': 'editor' },
    })
  const apply = (manager: string, version: string, spec: object, query = '') =>
    send('apply-patch+yaml')(`${things(version, 'a')}?fieldManager=${manager}${query}`, {
      apiVersion: `${group}/${version}`,
      kind: 'Thing',
      metadata: { name: 'a' },
      spec,
    })
  return {
    server,
    definition,
    apply,
    merge: send('merge-patch+json'),
    read: async (version: string) => (await call(server, { path: things(version, 'a') })).body,
    failing: (yes: boolean) => {
      fails = yes
    },
  }
}

t.test('a webhook converts for the owners of another version', async (t) => {
  const versions = { v1: {}, v2: {} }
  const { apply, merge, read } = await start(t, { versions, isConverted: true })
  await apply('one', 'v1', { host: 'x', note: 'n' })
  const refused = await apply('two', 'v2', { address: 'y' })
  t.equal(refused.status, 409)
  t.match(refused.body.message, 'conflict with "one": .spec.host')

  await apply('two', 'v2', { address: 'y' }, '&force=true')
  t.same(ownersOf(await read('v1')), ['one Apply v1 .spec.note', 'two Apply v2 .spec.address'])
  t.same((await apply('one', 'v1', {})).body.spec, { host: 'y' }, 'what nobody claims goes')
  t.same((await apply('two', 'v1', { note: 'm' })).body.spec, { note: 'm' }, 'in another version')

  await apply('two', 'v2', { address: 'z' })
  await merge(things('v1', 'a'), { spec: { host: 'w' } })
  t.same(
    ownersOf(await read('v2')),
    ['editor Update v1 .spec.host', 'one Apply v1 .spec'],
    'an update takes them',
  )
})

t.test('what cannot be converted has no owners, and no apply', async (t) => {
  const versions = { v1: {}, v2: {} }
  const { apply, merge, read, failing } = await start(t, { versions, isConverted: true })
  await apply('one', 'v1', { host: 'x' })
  await apply('two', 'v2', { note: 'n' })
  failing(true)
  const { status, body } = await apply('one', 'v1', { host: 'y' })
  t.equal(status, 500)
  t.equal(body.message, `conversion webhook for ${group}/v1, Kind=Thing failed: not today`)
  t.equal((await merge(things('v1', 'a'), { spec: { host: 'z' } })).status, 200)
  failing(false)
  t.match(await read('v1'), {
    spec: { host: 'z', note: 'n' },
    metadata: { managedFields: undefined },
  })
})

t.test('owners in a version that is served no more are asked as well', async (t) => {
  const versions = { v1: {}, v2: {} }
  const { apply, merge, read, definition, server } = await start(t, {
    versions,
    isConverted: true,
  })
  await apply('one', 'v1', { host: 'x' })
  await apply('two', 'v2', { note: 'n' })
  const [first, second] = definition.spec.versions
  await merge(`${crds}/things.${group}`, {
    spec: { versions: [first, { ...second, served: false }] },
  })
  await answerThat(server, { path: things('v2') }, 'is served no more', (a) => a.status !== 200)
  await apply('one', 'v1', { host: 'y' })
  t.same(ownersOf(await read('v1')), ['one Apply v1 .spec.host', 'two Apply v2 .spec.note'])
})

t.test('a write that leaves the status alone is compared whole for another version', async (t) => {
  const subresources = { status: {} }
  const { apply, merge, read } = await start(t, {
    versions: { v1: { subresources }, v2: { subresources } },
    isConverted: false,
  })
  await apply('one', 'v1', { host: 'x' })
  await merge(things('v2', 'a/status'), { status: { replicas: 1 } })
  await merge(things('v1', 'a'), { status: null, spec: { note: 'n' } })
  t.match(await read('v2'), { status: { replicas: 1 } })
  t.same(ownersOf(await read('v2')), ['editor Update v1 .spec.note', 'one Apply v1 .spec.host'])
})

t.test('each version has a place of its own for replicas, or none', async (t) => {
  const { apply, merge, read } = await start(t, {
    versions: {
      v1: { subresources: scaleOf('.spec.replicas') },
      v2: { subresources: scaleOf('.spec.count') },
      v3: {},
    },
    isConverted: false,
  })
  await apply('one', 'v1', { replicas: 1, note: 'n' })
  await apply('two', 'v2', { count: 1, replicas: 1 })
  await apply('three', 'v3', { replicas: 1 })
  await merge(things('v1', 'a/scale'), { spec: { replicas: 2 } })
  t.same(ownersOf(await read('v1')), [
    'editor Update v1 scale .spec.replicas',
    'one Apply v1 .spec.note',
    'three Apply v3 .spec.replicas',
    'two Apply v2 .spec.replicas',
  ])
})

t.test('a status has owners of its own, and nothing else by way of it', async (t) => {
  const versions = { v1: { subresources: { status: {} } } }
  const { apply, merge, read } = await start(t, { versions, isConverted: false })
  await apply('one', 'v1', { host: 'x' })
  const status = { replicas: 1 }
  await merge(things('v1', 'a/status'), {
    metadata: { labels: { a: 'b' } },
    spec: { n: 1 },
    status,
  })
  const owners = ['editor Update v1 status .status.replicas', 'one Apply v1 .spec.host']
  t.same(ownersOf(await read('v1')), owners)
  await merge(things('v1', 'a'), { spec: { note: 'n' }, status: { replicas: 2 } })
  t.same(ownersOf(await read('v1')), ['editor Update v1 .spec.note', ...owners])
})

t.test('an Event forgets who wrote it through its other group', async (t) => {
  const server = await startServer(t)
  const path = (group: string, resource: string) =>
    `/${group}/namespaces/default/${resource}?fieldManager=editor`
  const write = async (method: string, path: string, body: object) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    return (await call(server, { method, path, body, headers: { 'content-type': type } })).body
  }
  const metadata = { name: 'a' }
  const labels = { metadata: { labels: { a: 'b' } } }
  const event = { metadata, type: 'Normal', involvedObject: { namespace: 'default' } }
  const made = await write('POST', path('api/v1', 'events'), event)
  t.same(ownersOf(made), ['editor Update  .involvedObject .type'])
  const other = path('apis/events.k8s.io/v1', 'events/a')
  const labelled = await write('PATCH', other, labels)
  t.same(ownersOf(labelled), ['editor Update v1 .metadata.labels.a'])
  t.same(ownersOf(await write('PATCH', path('api/v1', 'events/a'), {})), [])

  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
  const scaler = { metadata, spec: { maxReplicas: 2, scaleTargetRef } }
  const scalers = 'horizontalpodautoscalers'
  await write('POST', path('apis/autoscaling/v1', scalers), scaler)
  const scaled = await write('PATCH', path('apis/autoscaling/v2', `${scalers}/a`), labels)
  t.equal(ownersOf(scaled).length, 2, 'versions of one group know each other')
})
