/** Large YAML is read beside everything else, and says what it would say if it were small. */
import t, { type Test } from 'tap'
import { YamlSyntaxError } from '#registry/yaml/messages.js'
import { YamlReader } from '#registry/yaml/reader.js'
import { parseYaml } from '#registry/yaml/yaml.js'

const never = new AbortController().signal

const readerOf = (test: Test): YamlReader => {
  const reader = new YamlReader()
  test.teardown(() => reader.end())
  return reader
}

/** Takes seconds. */
const long = Buffer.from(`a: [${'[],'.repeat(300_000)}]`)

t.test(
  'values, keys that come twice and faults come back from the thread as they are',
  async (t) => {
    const reader = readerOf(t)
    for (const text of [
      '{a: 9223372036854775807, b: 1.5, c: ~, d: [yes, {}], "": x, "2": b, "1": a}',
      '__proto__: {constructor: 1}\ntoString: "\\U0001F600"',
      'a: 1\nb: 2\na: 3',
      'x: 1\na: b: c',
      'a: \udc00',
      '',
    ]) {
      const bytes = Buffer.from(text)
      const here = (): unknown => {
        try {
          return parseYaml(bytes)
        } catch (error) {
          return error
        }
      }
      const read = await reader.read(bytes, never)
      const expected = here()
      if (expected instanceof YamlSyntaxError) {
        t.ok(read instanceof YamlSyntaxError)
        t.equal((read as YamlSyntaxError).message, expected.message)
      } else t.strictSame(read, expected)
    }
  },
)

t.test(
  'whoever leaves makes room for the next, whether its text is being read or waits',
  async (t) => {
    const reader = readerOf(t)
    const [first, second] = [new AbortController(), new AbortController()]
    const gone = new Error('gone')
    const left = [first, second].map(({ signal }) => t.rejects(reader.read(long, signal), gone))
    const answer = reader.read(Buffer.from('a: 1'), never)
    second.abort(gone)
    first.abort(gone)
    await Promise.all(left)
    t.strictSame(await answer, { value: { a: 1 }, duplicates: [] })
    await t.rejects(reader.read(long, first.signal), gone)
    t.match(await reader.read(Buffer.from('a: 2'), never), { value: { a: 2 } })
  },
)

t.test('at its end nobody goes on waiting', async (t) => {
  const reader = new YamlReader()
  const waiting = [long, long].map((text) => t.rejects(reader.read(text, never), /shutting down/))
  await reader.end()
  await Promise.all(waiting)
})
