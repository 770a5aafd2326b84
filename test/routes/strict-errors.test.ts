/** What stands twice in a body below a name of a megabyte: its paths together are longer than all memory. */
import t from 'tap'
import { prune } from '#crd/prune.js'
import type { StructuralSchema } from '#crd/structural-schema.js'
import { parseWithTrace } from '#json/json.js'
import type { JsonObject } from '#json/value.js'
import { copyUnstructured } from '#registry/decode/custom-object.js'
import { parsePatch } from '#routes/verbs/patch-body.js'

const long = 'x'.repeat(1_000_000)
const twice = (inner: string): string => `{"${long}":{${Array(20_000).fill(inner).join(',')}}}`
const repeated = twice('"a":1')

const errorsOfPatch = (type: 'json' | 'merge', text: string): readonly string[] =>
  parsePatch(type, { body: Buffer.from(text), headers: {} } as never, 'Strict').textErrors

t.test('the first are told', (t) => {
  t.strictSame(errorsOfPatch('merge', repeated), [`duplicate field "${long}.a"`])
  const operations = `[{"op":"add","path":"/a","value":${repeated}}]`
  t.strictSame(errorsOfPatch('json', operations), [
    `json patch duplicate field "[0].value.${long}.a"`,
  ])
  const { value, trace } = parseWithTrace(repeated)
  t.strictSame(copyUnstructured(value as JsonObject, trace).duplicates, [
    `duplicate field "${long}.a"`,
  ])
  const schema = { additionalProperties: { properties: {} } } as unknown as StructuralSchema
  const inner = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]))
  const object = { [long]: inner }
  t.equal(prune(object, schema)[0], `${long}.k0`)
  t.strictSame(object, { [long]: {} })
  t.end()
})

t.test('of a body there are a hundred at most, each once, quoted as Go does', (t) => {
  const pairs = Array.from({ length: 200 }, (_, at) => `"k${at}":1,"k${at}":2`).join(',')
  const errors = errorsOfPatch('merge', `{"data":{${pairs}}}`)
  t.equal(errors.length, 100)
  t.equal(errors[99], 'duplicate field "data.k99"')
  t.strictSame(errorsOfPatch('merge', '{"\\t":1,"\\t":2,"\\t":3}'), ['duplicate field "\\t"'])
  const twiceSaid = '[{"op":"test","path":"/a","value":1,"op":"add","x":1,"x":2}]'
  t.strictSame(errorsOfPatch('json', twiceSaid), [
    'json patch duplicate field "[0].op"',
    'json patch unknown field "[0].x"',
  ])
  t.end()
})
