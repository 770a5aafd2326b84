/** Paths of fields that rules name, followed through a schema as v1.36.3 does. */
import t from 'tap'
import { followFieldPath } from '#crd/field-path.js'
import type { StructuralSchema } from '#crd/structural-schema.js'

const shown = (schema: StructuralSchema, path: string): string => {
  const found = followFieldPath(schema, path)
  return typeof found === 'string' ? found : found.shown
}

t.test('a map has every key, whatever its values are', async (t) => {
  for (const additionalProperties of [true, false, { type: 'string' }]) {
    t.equal(shown({ type: 'object', additionalProperties }, '.b'), '[b]')
    t.equal(shown({ type: 'object', additionalProperties }, "['b.c']"), '[b.c]')
  }
  t.equal(shown({ type: 'object' }, '.b'), 'does not refer to a valid field')
  t.equal(
    shown({ type: 'object', properties: { a: {} }, additionalProperties: true }, '.b'),
    'does not refer to a valid field',
  )
})
