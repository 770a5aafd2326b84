/** Sets, and lists that are known by keys, as rules compare and add them: the answers are those of v1.36.3. */
import t from 'tap'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import type { StructuralSchema } from '#crd/structural-schema.js'
import type { JsonValue } from '#json/value.js'

const setOf = (items: object) => ({ type: 'array', 'x-kubernetes-list-type': 'set', items })
const mapBy = (...keys: string[]) => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', properties: Object.fromEntries(keys.map((k) => [k, text])) },
})
const text = { type: 'string' }

/** What is said of a list that replaces another. */
const said = (list: object, rule: string, from: JsonValue, to = from): string => {
  const it = { ...list, 'x-kubernetes-validations': [{ rule }] }
  const schema = { type: 'object', properties: { it } } as StructuralSchema
  const errors = makeRuleChecker(schema)!.check({ it: to }, { value: { it: from } })
  return errors.map(({ body }) => body).join()
}
const stays = 'self == oldSelf'
const fails = 'Invalid value: failed rule: self == oldSelf'

t.test('their order does not count', async (t) => {
  t.equal(said(setOf(text), stays, ['a', 'b'], ['b', 'a']), '')
  t.equal(said(setOf(text), stays, ['a', 'b'], ['b', 'c']), fails)
  t.equal(said(setOf({ 'x-kubernetes-int-or-string': true }), stays, [1, 'a'], ['a', 1]), '')
  const named = [{ name: 'a' }, { name: 'b' }]
  t.equal(said(mapBy('name'), stays, named, named.toReversed()), '')
})

t.test('what is there already is not added again', async (t) => {
  t.equal(said(setOf({ type: 'integer' }), 'size(self + [1, 5, 5]) == 3', [1, 2]), '')
  t.equal(said(mapBy('name'), 'size(self + [self[0], self[0]]) == 1', [{ name: 'a' }]), '')
  const literal = `size(dyn(self) + dyn([{'name': 'a'}])) == 2`
  t.equal(said(mapBy('name'), literal, [{ name: 'a' }]), '')
})

t.test('items of a set are what they are in Go', async (t) => {
  t.equal(said(setOf({ type: 'number' }), stays, [1, 2.5]), fails)
  t.equal(said(setOf({ type: 'number' }), stays, [1.5, 2.5]), '')
  t.equal(said(setOf({ ...text, format: 'date-time' }), stays, ['2020-01-01T00:00:00Z']), fails)
  t.equal(said(setOf({ ...text, format: 'duration' }), stays, ['1s']), fails)
  t.match(said(setOf({ ...text, format: 'byte' }), stays, ['AAAA']), 'unhashable type []uint8')
  const atomic = { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: text } }
  t.match(said(setOf(atomic), stays, [{ a: 'a' }]), 'unhashable type map[string]interface {}')
})

t.test('keys are looked for by their names in rules', async (t) => {
  const apart = (key: string) => [
    { [key]: 'a', name: 'x' },
    { [key]: 'b', name: 'x' },
  ]
  t.equal(said(mapBy('type', 'name'), stays, apart('type')), '')
  t.equal(said(mapBy('namespace', 'name'), stays, apart('namespace')), fails)
  t.equal(said(mapBy('a-b', 'name'), stays, apart('a-b')), fails)
})

t.test('long ones are not searched for each item', async (t) => {
  const count = 50_000
  const names = Array.from({ length: count }, (_none, i) => `n${i}`)
  t.equal(said(setOf(text), stays, names, names.toReversed()), '')
  t.equal(said(setOf(text), `size(self + oldSelf) == ${count}`, names, names.toReversed()), '')
  const items = names.map((name) => ({ name }))
  t.equal(said(mapBy('name'), stays, items, items.toReversed()), '')
})
