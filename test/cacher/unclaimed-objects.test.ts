/** Objects that were there, or came, before their resource was known: a definition may be older than its kind. */
import fc from 'fast-check'
import t from 'tap'
import { versionOf } from '#cacher/direct-storage.js'
import { makeWorkingSets } from '#cacher/stored-version.js'
import { UnclaimedObjects } from '#cacher/unclaimed-objects.js'
import type { KeyValue } from '#storage/driver.js'

const resources = ['pods/', 'example.com/widgets/', 'example.com/widgetsets/', 'other.io/things/']
const keys = resources.flatMap((resource) =>
  ['a/x', 'a/y', 'b/x'].map((name) => `/registry/${resource}${name}`),
)

t.test('a resource takes what is there of it, in order, and leaves the rest', (t) => {
  const sets = makeWorkingSets(1)
  const kv = (key: string, modRevision: number): KeyValue => ({
    key,
    value: Buffer.from('{}'),
    createRevision: 1,
    modRevision,
  })
  const key = fc.constantFrom(...keys)
  const found = fc.uniqueArray(key).map((list) => list.sort())
  const writes = fc.array(fc.record({ key, isDelete: fc.boolean() }), { maxLength: 20 })
  const takes = fc.shuffledSubarray(resources, { minLength: resources.length })
  fc.assert(
    fc.property(found, writes, takes, writes, (found, before, order, between) => {
      const unclaimed = new UnclaimedObjects('/registry/', sets)
      const expected = new Map<string, number>()
      const claimed: string[] = []
      let revision = 0
      const write = ({ key, isDelete }: { key: string; isDelete: boolean }): void => {
        revision++
        if (claimed.some((prefix) => key.startsWith(prefix))) return
        unclaimed.set(key, isDelete ? undefined : versionOf(kv(key, revision), sets))
        if (isDelete) expected.delete(key)
        else expected.set(key, revision)
      }
      for (const key of found) {
        unclaimed.add(kv(key, ++revision))
        expected.set(key, revision)
      }
      before.forEach(write)
      for (const [at, resource] of order.entries()) {
        const prefix = `/registry/${resource}`
        claimed.push(prefix)
        const taken: [string, number][] = []
        unclaimed.take(prefix).scan(prefix, prefix, (version, key) => {
          taken.push([key, version.revision])
        })
        t.same(
          taken,
          [...expected].filter(([key]) => key.startsWith(prefix)).sort(),
          `${prefix} after ${at}`,
        )
        between.slice(at * 5, at * 5 + 5).forEach(write)
      }
    }),
    { numRuns: 100 },
  )
  t.end()
})
