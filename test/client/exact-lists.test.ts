/** In a process of its own, which has met no such integer before. */
import t from 'tap'
import { canonicalCopy, readJson, writeJson } from '#client/exact-json.js'

t.test('a list of integers that a double cannot hold is written as it was read', (t) => {
  const text = '{"a":[9223372036854775807,1,[-9223372036854775807]]}'
  t.equal(writeJson(readJson(text)), text)
  t.equal(writeJson(canonicalCopy(readJson(text))), text)
  t.end()
})
