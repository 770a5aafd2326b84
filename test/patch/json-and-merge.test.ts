import fc from 'fast-check'
import t from 'tap'
import { ApiError } from '#api/errors.js'
import { deepFreeze } from '#cacher/mutation-detector.js'
import { jsonEqual } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { applyJsonPatch } from '#registry/patch/json.js'
import { applyMergePatch, replaceByMergePatch } from '#registry/patch/merge.js'

// Without lists: what is null in a list that takes the place of an object stays, and goes when it comes a second time.
const { value: nested } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, 'x', 1, true),
    fc.dictionary(fc.string({ maxLength: 2 }), tie('value'), { maxKeys: 4 }),
  ),
}))
const object = fc.dictionary(fc.string({ maxLength: 2 }), nested, {
  maxKeys: 5,
}) as fc.Arbitrary<JsonObject>
const freeze = <T>(value: T): T => {
  deepFreeze(value)
  return value
}
const codeOf = (run: () => unknown): number => {
  try {
    run()
  } catch (e) {
    if (e instanceof ApiError) return e.code
    throw e
  }
  return 200
}
const on = (document: JsonObject, ...operations: JsonObject[]) =>
  applyJsonPatch(freeze(document), operations)

t.test('a merge patch that an object makes of itself and another gives the other', async () => {
  const diff = (from: JsonObject, to: JsonObject): JsonObject => {
    const removed = Object.fromEntries(
      Object.keys(from)
        .filter((k) => !Object.hasOwn(to, k))
        .map((k) => [k, null]),
    )
    return { ...removed, ...to }
  }
  const scalars = fc.dictionary(
    fc.string({ maxLength: 3 }),
    fc.oneof(fc.string(), fc.integer(), fc.boolean()),
  )
  fc.assert(
    fc.property(scalars, scalars, (a, b) =>
      jsonEqual(
        applyMergePatch(freeze(a as JsonObject), freeze(diff(a as JsonObject, b as JsonObject))),
        b as JsonObject,
      ),
    ),
  )
})

t.test(
  'a merge patch applied twice is the patch applied once, and leaves no null behind',
  async () => {
    fc.assert(
      fc.property(object, object, (document, patch) => {
        const once = applyMergePatch(freeze(document), freeze(patch))
        return jsonEqual(applyMergePatch(freeze(once), patch), once)
      }),
    )
  },
)

t.test('keys that JavaScript treats specially are plain keys', async (t) => {
  const patch = JSON.parse('{"data":{"__proto__":"x","constructor":{"a":1}}}')
  const merged = applyMergePatch({ data: {} }, patch)
  t.equal(JSON.stringify(merged), JSON.stringify(patch))
  const added = on({ data: {} }, { op: 'add', path: '/data/__proto__', value: 'x' })
  t.equal(JSON.stringify(added), '{"data":{"__proto__":"x"}}')
  t.equal(
    codeOf(() => on({}, { op: 'add', path: '/constructor/prototype/polluted', value: 1 })),
    422,
  )
  t.equal(({} as Record<string, unknown>).polluted, undefined)
})

t.test('a JSON patch follows the library of upstream where the RFC says otherwise', async (t) => {
  t.same(on({ a: 1 }), { a: 1 }, 'nothing to do')
  t.same(on({ d: {} }, { op: 'replace', path: '/d/none', value: 1 }), { d: { none: 1 } })
  t.same(on({ d: {} }, { op: 'add', path: '/d/k' }), { d: { k: null } })
  t.same(on({ d: {} }, { op: 'copy', from: '/d/none', path: '/d/k' }), { d: { k: null } })
  t.same(on({ l: [1, 2] }, { op: 'add', path: '/l/-1', value: 3 }), { l: [1, 2, 3] })
  t.same(on({ l: [1, 2] }, { op: 'remove', path: '/l/-1' }), { l: [1] })
  t.same(on({}, { op: 'add', path: 'before/k', value: 1 }), { k: 1 })
  t.same(on({}, { op: 'test', path: '/none', value: null }), {})
  t.same(on({ 'a/b': { '~': 1 } }, { op: 'remove', path: '/a~1b/~0' }), { 'a/b': {} })
})

t.test('an operation that cannot be done refuses the whole patch with a 422', async (t) => {
  const document = { d: { k: 'v' }, l: [1], n: null }
  const refused: JsonObject[] = [
    { op: 'remove', path: '/d/none' },
    { op: 'add', path: '/none/k', value: 1 },
    { op: 'add', path: '/d/k/deeper', value: 1 },
    { op: 'add', path: '/n/k', value: 1 },
    { op: 'add', path: '/n/k/deeper', value: 1 },
    { op: 'add', path: '/l/3', value: 1 },
    { op: 'replace', path: '/l/-', value: 1 },
    { op: 'replace', path: '/l/1', value: 1 },
    { op: 'move', from: '/d/none', path: '/d/x' },
    { op: 'test', path: '/d/k', value: 'w' },
    { op: 'test', path: '/d/none', value: 'w' },
    { op: 'frobnicate', path: '/d/k' },
    { op: 'add', value: 1 },
    { op: 'replace', path: '', value: 'text' },
  ]
  for (const operation of refused) {
    t.equal(
      codeOf(() => on(document, operation)),
      422,
      JSON.stringify(operation),
    )
  }
})

t.test(
  'what is no list of operations, and what is too long or grows too much, is refused',
  async (t) => {
    t.equal(
      codeOf(() => applyJsonPatch({}, { op: 'add' })),
      400,
    )
    t.equal(
      codeOf(() => applyJsonPatch({}, [{ op: 1 }])),
      422,
    )
    for (const patch of [null, 'x', 1])
      t.equal(
        codeOf(() => replaceByMergePatch(patch)),
        400,
      )
    t.same(replaceByMergePatch([null, { a: null }]), [null, {}])
    const add = { op: 'add', path: '/x', value: 1 }
    t.equal(
      codeOf(() => applyJsonPatch({}, Array(10_000).fill(add))),
      200,
    )
    t.equal(
      codeOf(() => applyJsonPatch({}, Array(10_001).fill(add))),
      413,
    )
    const double = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/k${i}` }))
    t.equal(
      codeOf(() => applyJsonPatch({ k: 'x' }, double)),
      422,
    )
    const doubling = Array.from({ length: 40 }, (_, i) => ({
      op: 'copy',
      from: '/a',
      path: `/a/k${i}`,
    }))
    t.equal(
      codeOf(() => applyJsonPatch({ a: { k: 'x' } }, doubling)),
      422,
    )
  },
)

t.test('what is moved is not copied, however often', async (t) => {
  const much = { a: { b: 1 } }
  const there = { op: 'move', from: '/x', path: '/y' }
  const back = { op: 'move', from: '/y', path: '/x' }
  const moves = Array.from({ length: 5_000 }, () => [there, back])
    .flat()
    .slice(1)
  const { x } = on({ y: much }, ...moves) as { x: JsonObject }
  t.equal(x, much)
  const change = { op: 'replace', path: '/x/a/b', value: 2 }
  t.same(on({ y: much }, back, change, there), { y: { a: { b: 2 } } })
  t.same(much, { a: { b: 1 } })
})

t.test('patches do not make an object ever deeper', async (t) => {
  const nested = (levels: number): JsonObject => (levels === 0 ? {} : { a: nested(levels - 1) })
  const deepen = (levels: number): JsonObject => ({
    op: 'add',
    path: '/a'.repeat(levels),
    value: nested(900),
  })
  t.equal(
    codeOf(() => on(nested(100), deepen(100))),
    200,
  )
  t.equal(
    codeOf(() => on(nested(900), deepen(900))),
    422,
  )
  t.equal(
    codeOf(() => on({}, deepen(1), deepen(900), deepen(1800), deepen(2700))),
    422,
  )
  const moved = (from: string, path: string): JsonObject => ({ op: 'move', from, path })
  const within = (levels: number) => [
    moved('/a', '/b'),
    deepen(1),
    moved('/b', '/a'.repeat(levels)),
  ]
  const copied = { op: 'copy', from: '/a', path: '/c' }
  const much = Array.from({ length: 10 }, () => within(901)).flat()
  t.equal(
    codeOf(() => on({}, deepen(1), ...much, copied)),
    422,
  )
})
