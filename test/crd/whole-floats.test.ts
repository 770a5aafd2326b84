/** Numbers of custom resources that Go reads as floats and stores as integers; the answers are v1.36.3's. */
import t from 'tap'
import { customRows } from '#crd/custom-rows.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'
import { parseWithTrace } from '#json/json.js'
import { decodeObject } from '#registry/decode.js'

const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const number = { type: 'number' }
const spec = {
  type: 'object',
  properties: { n: number, l: { type: 'array', items: number }, any },
}
const names = { plural: 'things', kind: 'Thing' }
const [row] = customRows({
  metadata: { name: 'things.e.com' },
  spec: {
    ...{ group: 'e.com', scope: 'Cluster', names },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec, status: any } } },
      },
    ],
  },
  status: { acceptedNames: names },
} as unknown as CustomResourceDefinition)

const read = (content: string) => {
  const text = `{"apiVersion":"e.com/v1","kind":"Thing","metadata":{"name":"a"},${content}}`
  const { value, trace } = parseWithTrace(text)
  return decodeObject(row!, value, trace).object
}
const rule = row!.strategy.generation as (next: object, previous: object) => boolean

t.test('a whole number that is written as a float is a change each time', (t) => {
  const stored = read('"spec":{"n":1,"l":[1],"any":{"x":1}},"status":{"x":1}')
  const changes = (content: string) => rule(read(content), stored)
  t.equal(changes('"spec":{"n":1,"l":[1],"any":{"x":1}}'), false)
  t.equal(changes('"spec":{"n":1.0,"l":[1],"any":{"x":1}}'), true)
  t.equal(changes('"spec":{"n":1e0,"l":[1],"any":{"x":1}}'), true)
  t.equal(changes('"spec":{"n":1,"l":[1.0],"any":{"x":1}}'), true)
  t.equal(changes('"spec":{"n":1,"l":[1],"any":{"x":10e-1}}'), true)
  t.equal(changes('"spec":{"n":1,"l":[1],"any":{"x":1},"no":1.0}'), false, 'it is pruned')
  t.equal(changes('"spec":{"n":1,"l":[1],"any":{"x":1}},"status":{"x":1.0}'), false)
  t.end()
})

t.test('a float that stays one when it is stored is none', (t) => {
  for (const n of ['1.50', '1e20', '9223372036854775808.0']) {
    const content = `"spec":{"n":${n}}`
    t.equal(rule(read(content), read(content)), false, n)
  }
  t.end()
})

t.test('an integer of YAML beyond an int64 is a float', (t) => {
  const { object } = decodeObject(row!, {
    ...{ apiVersion: 'e.com/v1', kind: 'Thing', metadata: { name: 'a' } },
    spec: { n: 2n ** 63n, any: { x: 2n ** 63n - 1n } },
  })
  t.same(object.spec, { n: 2 ** 63, any: { x: 2n ** 63n - 1n } })
  t.end()
})

t.test('in sets and as the key of a list a float is another number than the integer', (t) => {
  const list = { type: 'array', 'x-kubernetes-list-type': 'set', items: number }
  const item = { type: 'object', properties: { k: number, m: number } }
  const byKeys = (keys: string[]) => ({
    ...{ type: 'array', items: item },
    ...{ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys },
  })
  const version = {
    ...{ name: 'v1', served: true, storage: true },
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { set: list, one: byKeys(['k']), two: byKeys(['k', 'm']) },
      },
    },
  }
  const [withLists] = customRows({
    metadata: { name: 'things.e.com' },
    spec: { group: 'e.com', scope: 'Cluster', names, versions: [version] },
    status: { acceptedNames: names },
  } as unknown as CustomResourceDefinition)
  const wrong = (content: string): string => {
    const text = `{"apiVersion":"e.com/v1","kind":"Thing","metadata":{"name":"a"},${content}}`
    const { value, trace } = parseWithTrace(text)
    const { object } = decodeObject(withLists!, value, trace)
    const errors = withLists!.strategy.validate!(object as never, {} as never)
    return errors.map(({ field }) => field).join()
  }
  t.equal(wrong('"set":[1,1]'), 'set[1]')
  t.equal(wrong('"set":[1,1.0]'), '')
  t.equal(wrong('"set":[1.0,1,1e0]'), 'set[2]')
  t.equal(wrong('"one":[{"k":1},{"k":1.0}]'), '')
  t.equal(wrong('"one":[{"k":1.0},{"k":1.0}]'), 'one[1]')
  t.equal(wrong('"two":[{"k":1,"m":2},{"k":1.0,"m":2}]'), 'two[1]', 'keys together are JSON')
  t.end()
})
