/** Documents of OpenAPI as definitions come, change and go. */
import t from 'tap'
import { customRows } from '#crd/custom-rows.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'
import { kinds } from '#kinds/index.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { Documents } from '#routes/openapi/documents.js'

const rowsOf = (plural: string, spec: object): ResourceDefinition[] => {
  const names = { plural, kind: plural.toUpperCase(), listKind: `${plural.toUpperCase()}List` }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  const version = { name: 'v1', served: true, storage: true, schema }
  return customRows({
    metadata: { name: `${plural}.e.com` },
    spec: { group: 'e.com', scope: 'Namespaced', names, versions: [version] },
    status: { acceptedNames: names },
  } as unknown as CustomResourceDefinition)
}

const sourceOf = (rows: () => Iterable<ResourceDefinition>) => {
  let changed = () => {}
  const onChange = (listener: () => void) => {
    changed = listener
    return () => {}
  }
  return { [Symbol.iterator]: () => rows()[Symbol.iterator](), onChange, change: () => changed() }
}

const group = 'apis/e.com/v1'

t.test('they are what they would be at a fresh start', async (t) => {
  const builtIn = [...makeResourceTable(kinds)].filter(({ gvk }) => gvk.group === 'apps')
  const custom = new Map<string, ResourceDefinition[]>()
  const rows = () => [...builtIn, ...[...custom.values()].flat()]
  const source = sourceOf(rows)
  const lasting = new Documents({ source, build: 'b' })
  const steps: [string, object | undefined][] = [
    ['as', { type: 'string' }],
    ['bs', { type: 'object', properties: { a: { type: 'integer' } } }],
    ['as', { type: 'integer' }],
    ['cs', { type: 'array', items: { type: 'string' } }],
    ['bs', undefined],
    ['as', { type: 'string' }],
  ]
  const tags = new Set<string>()
  for (const [plural, spec] of steps) {
    if (spec === undefined) custom.delete(plural)
    else custom.set(plural, rowsOf(plural, spec))
    source.change()
    const fresh = new Documents({ source: sourceOf(rows), build: 'b' })
    const whole = await lasting.v2([])
    t.same(whole, await fresh.v2([]))
    const hash = lasting.hash(group)!
    t.same(await lasting.v3(group, hash), await fresh.v3(group, hash))
    tags.add(whole.etag)
  }
  t.equal(tags.size, steps.length, 'each under a tag of its own')
})

t.test('a change of one resource describes no other again', async (t) => {
  const described: string[] = []
  let rows = [...rowsOf('as', { type: 'string' }), ...rowsOf('bs', { type: 'string' })]
  const source = sourceOf(() => rows)
  const describe = <T>(name: string, schema: T): T => {
    described.push(name)
    return schema
  }
  const documents = new Documents({ source, build: 'b', describe })
  await documents.v2([])
  const first = described.splice(0).length
  rows = [rows[0]!, ...rowsOf('bs', { type: 'integer' })]
  source.change()
  await documents.v2([])
  t.ok(first > 4)
  // Its own metadata and that of its list, and the kinds that every version has.
  t.ok(described.length <= 4, described.join())
})
