/** Errors of whole objects, as messages of v1.36.3 show them. */
import t from 'tap'
import { validateValue } from '#crd/validate-value.js'

t.test('an error of the whole has no field', async (t) => {
  const [error] = validateValue({ a: 1, b: 2 }, { type: 'object', maxProperties: 1 }, '')
  t.match(error, { field: '<nil>', body: 'Too many: 2: must have at most 1 item' })
})

t.test('an object that is none of those allowed is shown with its keys in order', async (t) => {
  const schema = { type: 'object', enum: [{ d: 1, c: 2 }] }
  const [error] = validateValue({ b: 3, a: 1 }, schema, 'o')
  t.match(error, {
    body: String.raw`Unsupported value: {"a":1,"b":3}: supported values: "{\"c\":2,\"d\":1}"`,
  })
})
