/** Values as large as a request may be: each is judged in one walk, as nobody else is answered meanwhile. */
import t from 'tap'
import { validateValue } from '#crd/validate-value.js'

const numbers = (count: number): number[] => Array.from({ length: count }, (_none, i) => i)

t.test('a list that is wrong in every item', async (t) => {
  const count = 200_000
  const texts = { type: 'array', items: { type: 'string' } }
  const errors = validateValue(numbers(count), texts, 'l')
  t.equal(errors.length, count)
  t.match(errors.at(-1), { field: `l[${count - 1}]`, body: /must be of type string: "integer"/ })
})
