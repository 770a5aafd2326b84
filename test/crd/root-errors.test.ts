/** Errors of a whole custom resource, as messages show them. */
import t from 'tap'
import { validateValue } from '#crd/validate-value.js'

t.test('an error of the whole has no field', async (t) => {
  const [error] = validateValue({ a: 1, b: 2 }, { type: 'object', maxProperties: 1 }, '')
  t.match(error, { field: '<nil>', body: 'Too many: 2: must have at most 1 item' })
})
