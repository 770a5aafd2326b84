/** Integers beyond what a double counts exactly, wherever a definition or its objects may have them (an int64 in Go). */
import t, { type Test } from 'tap'
import { parse } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { call, isServed, startServer } from './start-server.js'

const group = 'large.example.com'
const things = `/apis/${group}/v1/namespaces/default/things`
const largest = 2n ** 63n - 1n
const odd = 2n ** 53n + 1n
const int64 = { type: 'integer', format: 'int64' }
const item = {
  type: 'object',
  required: ['id'],
  properties: { id: int64, word: { type: 'string' } },
}
const spec = {
  type: 'object',
  properties: {
    some: { ...int64, default: largest },
    one: { ...int64, enum: [odd, 1] },
    even: { ...int64, multipleOf: 2 },
    least: { ...int64, minimum: 2 ** 53 + 2 },
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: int64 },
    list: {
      ...{ type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'] },
      items: item,
    },
    text: { type: 'string' },
    copy: { type: 'string' },
  },
}

const start = async (t: Test) => {
  const server = await startServer(t, { storage: 'memory:' })
  const send = async (method: string, path: string, body?: unknown, type = 'application/json') => {
    const headers = { 'content-type': type }
    const { status, text } = await call(server, { method, path, headers, body })
    return { status, body: parse(text) as JsonObject & { spec: JsonObject; message: string } }
  }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `things.${group}` },
    spec: {
      ...{ group, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' } },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  })
  await isServed(server, things)
  const thing = (name: string, content: object) => ({
    ...{ apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name }, spec: content },
  })
  return {
    send,
    make: (name: string, content: object) => send('POST', things, thing(name, content)),
    apply: (manager: string, content: object) =>
      send(
        'PATCH',
        `${things}/applied?fieldManager=${manager}`,
        thing('applied', content),
        'application/apply-patch+yaml',
      ),
  }
}

t.test('a definition says them as they are', async (t) => {
  const { send, make } = await start(t)
  t.equal((await make('default', {})).body.spec.some, largest)
  t.match(
    (await make('enum', { one: odd - 1n })).body.message,
    'spec.one: Unsupported value: 9007199254740992: supported values: "9007199254740993", "1"',
  )
  t.equal((await make('even', { even: odd + 1n })).status, 201)
  t.match((await make('odd', { even: odd })).body.message, 'should be a multiple of 2')
  t.equal((await make('least', { least: odd })).status, 422)
  for (const path of [`/openapi/v3/apis/${group}/v1`, '/openapi/v2']) {
    const { status, body } = await send('GET', path)
    const schemas = (body.components as JsonObject | undefined)?.schemas ?? body.definitions
    const { properties } = (schemas as JsonObject)['com.example.large.v1.Thing'] as JsonObject
    const { one } = ((properties as JsonObject).spec as JsonObject).properties as JsonObject
    t.match([status, one], [200, { enum: [odd, 1] }], path)
  }
})

t.test('items of lists are told apart by them', async (t) => {
  const { apply } = await start(t)
  const [a, b] = [
    { id: odd, word: 'a' },
    { id: odd - 1n, word: 'b' },
  ]
  const both = await apply('x', { set: [odd, odd - 1n], list: [a, b] })
  t.strictSame([both.status, both.body.spec.set], [201, [odd, odd - 1n]])
  const conflict = await apply('y', { list: [{ ...a, word: 'c' }] })
  t.match(conflict.body.message, 'conflict with "x": .spec.list[id=9.007199254740992e+15].word')
  const one = await apply('x', { set: [odd], list: [a] })
  t.strictSame([one.body.spec.set, one.body.spec.list], [[odd], [a]])
})
