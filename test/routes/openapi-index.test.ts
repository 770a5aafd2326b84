/** The index of /openapi/v3, which each command of kubectl reads first. */
import { fastify } from 'fastify'
import t from 'tap'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { installOpenApi } from '#routes/openapi/openapi.js'
import { schemaNameOf } from '#routes/openapi/schema-name.js'

t.test('schemas are looked at once for each row of the table', async (t) => {
  let looks = 0
  let changed = () => {}
  const rowOf = (type: string): ResourceDefinition =>
    ({
      gvr: { group: 'e.com', version: 'v1', resource: 'notes' },
      gvk: { group: 'e.com', version: 'v1', kind: 'Note' },
      ...{ listKind: 'NoteList', namespaced: true, verbs: ['get'], hasStatus: false },
      ...{ subresources: [], isCustom: true, returnsDeletedObject: false },
      get structuralSchema() {
        looks++
        return { type: 'object', properties: { a: { type } } }
      },
    }) as unknown as ResourceDefinition
  let rows = [rowOf('string')]
  const app = fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { kube: { now: 0 } })
  })
  const onChange = (listener: () => void) => {
    changed = listener
  }
  installOpenApi(app, {
    source: { [Symbol.iterator]: () => rows.values(), onChange },
    remote: { openApiPaths: () => new Map() },
    build: 'test',
  } as unknown as Parameters<typeof installOpenApi>[1])
  const url = async (): Promise<string> => {
    const { paths } = (await app.inject('/openapi/v3')).json()
    return paths['apis/e.com/v1'].serverRelativeURL
  }
  const first = await url()
  t.match(first, /hash=[0-9A-F]{128}$/)
  t.equal(await url(), first)
  t.equal(looks, 1)
  changed()
  t.equal(await url(), first)
  t.equal(looks, 1)
  rows = [rowOf('integer')]
  changed()
  t.not(await url(), first)
  t.equal(looks, 2)
})

t.test('a custom kind does not take the name of a built-in schema', async (t) => {
  const kind = 'CustomResourceDefinition'
  const taken = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition'
  const group = 'apiextensions.apis.pkg.apiextensions-apiserver.k8s.io'
  t.equal(schemaNameOf({ group: 'apiextensions.k8s.io', version: 'v1', kind }), taken)
  t.equal(schemaNameOf({ group, version: 'v1', kind }), `${taken}_v2`)
  t.equal(schemaNameOf({ group, version: 'v2', kind }), taken.replace('v1', 'v2'))
})
