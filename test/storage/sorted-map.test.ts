/** The map in key order under every store, against a plain Map that is sorted for each question. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { limits } from '#limits'
import { SortedMap } from '#storage/sorted-map.js'

const keyOf = (n: number): string => `/registry/${'abc'[n % 3]}/${String(n).padStart(5, '0')}`

/** Enough for several chunks, in order or not: what is loaded in order is put in another way. */
const keys = fc
  .tuple(fc.integer({ min: 0, max: limits.chunkLengthMax * 5 }), fc.constantFrom(1, -1, 7_919))
  .map(([count, step]) =>
    Array.from({ length: count }, (_, i) => keyOf((i * step + 100_003) % 100_003)),
  )

const question = fc.record({
  prefix: fc.constantFrom('', '/', '/registry/a/', '/registry/b/', '/registry/c/0', '/other/'),
  start: fc.oneof(fc.constant(''), fc.nat(100_003).map(keyOf)),
  most: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 1, max: 700 })),
})

/** Which of the keys are deleted, and which are written once more. */
const changes = fc.record({ deleteEvery: fc.integer({ min: 1, max: 5 }), again: fc.boolean() })

t.test('whatever was written and deleted, it holds what is left, in order', (t) => {
  fc.assert(
    fc.property(keys, changes, fc.array(question, { maxLength: 8 }), (all, change, questions) => {
      const map = new SortedMap<number>()
      const model = new Map<string, number>()
      const set = (key: string, value: number): void => {
        assert.equal(map.set(key, value).value, value)
        model.set(key, value)
      }
      for (const [i, key] of all.entries()) set(key, i)
      for (const [i, key] of all.entries()) {
        if (i % change.deleteEvery !== 0) continue
        assert.equal(map.delete(key)?.key, model.delete(key) ? key : undefined)
        assert.equal(map.get(key), undefined)
      }
      if (change.again) for (const key of all.slice(0, 900)) set(key, -1)
      const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1))
      assert.equal(map.size, sorted.length)
      assert.deepEqual(
        map.all().map(({ key, value }) => [key, value]),
        sorted,
      )
      for (const { prefix, start, most } of questions) {
        const wanted = sorted.filter(([key]) => key.startsWith(prefix) && key >= start)
        assert.equal(map.count(prefix, start), wanted.length, `${prefix} from ${start}`)
        const visited: [string, number][] = []
        map.scan(prefix, start, (value, key) => visited.push([key, value]) < most)
        assert.deepEqual(visited, wanted.slice(0, most), `${prefix} from ${start}, ${most}`)
      }
    }),
    { numRuns: 40 },
  )
  t.end()
})
