/** Entries of a list whose keys are defaults, so that who applies them need not name a single field. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { customRows } from '#crd/custom-rows.js'
import type { JsonValue } from '#json/value.js'
import { decodeMade } from '#registry/decode.js'
import { makeFieldManager } from '#registry/field-manager/field-manager.js'

const names = { plural: 'foos', kind: 'Foo', listKind: 'FooList', singular: 'foo' }
const entry = {
  type: 'object',
  properties: { name: { type: 'string', default: 'a' }, size: { type: 'integer' } },
}
const list = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  items: entry,
}
const openAPIV3Schema = { type: 'object', properties: { spec: list } }
const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }
const [definition] = customRows({
  metadata: { name: 'foos.x.io', resourceVersion: '1' },
  spec: { group: 'x.io', scope: 'Namespaced', names, versions: [version] },
  status: { acceptedNames: names },
} as unknown as Parameters<typeof customRows>[0])
const manager = makeFieldManager({ definition: definition!, versionOf: () => undefined })

const apply = (live: KubeObject | undefined, by: string, spec: JsonValue): KubeObject => {
  const patch = { apiVersion: 'x.io/v1', kind: 'Foo', metadata: { name: 'n' }, spec }
  const change = { live, patch, manager: by, force: true, subresource: '', now: 0 }
  return decodeMade(definition!, manager.apply(change) as JsonValue).object
}

// Upstream's prune: the key that was filled in belongs to nobody, and what is left of the entry without it is nothing.
t.test(
  'an entry without a field that is applied again goes, unless somebody owns one of its fields',
  async (t) => {
    const once = apply(undefined, 'one', [{}, { name: 'b' }])
    t.same(once.spec, [{ name: 'a' }, { name: 'b' }])
    t.same(apply(once, 'one', [{}, { name: 'b' }]).spec, [{ name: 'b' }])
    const sized = apply(once, 'two', [{ size: 1 }])
    t.same(apply(sized, 'one', [{}, { name: 'b' }]).spec, [{ name: 'a', size: 1 }, { name: 'b' }])
  },
)

t.test(
  'who gives up one entry of a list may leave another that is claimed without a field',
  async (t) => {
    const both = apply(apply(undefined, 'one', [{}]), 'two', [{ size: 1 }])
    t.notOk(apply(both, 'two', []).spec)
  },
)
