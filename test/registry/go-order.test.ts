/** Whoever reads an answer as text finds every field where kube-apiserver writes it. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { stringify } from '#json/json.js'
import { cloneJson } from '#json/object.js'
import { kinds } from '#kinds/index.js'
import { inGoOrder } from '#registry/decode/go-order.js'
import { decodeBuiltIn } from '#registry/decode.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

const table = makeResourceTable(kinds)

/** Nothing allocates addresses here: a Service has none of those that its lists are for. */
const withoutEmptyLists = (text: string): string =>
  JSON.stringify(JSON.parse(text), (_, value) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  )

/** What the decoder makes of it has the order of the Go types. */
const decodedAnew = (object: KubeObject, schemaName: string): string => {
  const { gvk } = table.byKind(gvkOf(object))!
  return withoutEmptyLists(stringify(decodeBuiltIn(gvk, schemaName, cloneJson(object)).object))
}

const gvkOf = ({ apiVersion, kind }: KubeObject) => {
  const [version, group = ''] = apiVersion.split('/').reverse()
  return { group, version: version!, kind }
}

t.test('every kind is stored in the order of its Go type, defaults included', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  for (const { group, version, kind, sample } of kinds) {
    const definition = table.byKind({ group, version, kind })!
    const { schemaName, namespaced, verbs, gvr } = definition
    if (schemaName === undefined || !verbs.includes('create')) continue
    const { code, body } = await api.create(
      [gvr.group, gvr.version, gvr.resource].filter(Boolean).join('/'),
      sample,
      namespaced ? { namespace: 'default' } : {},
    )
    if (code !== 201) continue
    const { labels } = body.metadata
    const object = { ...body, metadata: labels === undefined ? {} : { labels } }
    t.equal(withoutEmptyLists(stringify(object)), decodedAnew(object, schemaName), kind)
  }
})

t.test('what has its place stays the very same object', (t) => {
  const spec = { replicas: 1, selector: { matchLabels: { a: '1', b: '2' } } }
  const deployment = { kind: 'Deployment', apiVersion: 'apps/v1', metadata: {}, spec }
  t.equal(inGoOrder('apps.v1.Deployment', deployment), deployment)
  const { matchLabels } = spec.selector
  const turned = { ...deployment, spec: { selector: { matchLabels }, replicas: 1 } }
  const arranged = inGoOrder('apps.v1.Deployment', turned)
  t.same(Object.keys(arranged.spec), ['replicas', 'selector'])
  t.equal(arranged.spec.selector, turned.spec.selector)
  t.end()
})
