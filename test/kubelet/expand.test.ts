/** $(NAME) in commands, arguments and variables. */
import t from 'tap'
import { expand } from '#kubelet/expand.js'

const values = new Map([
  ['A', 'a'],
  ['B', '$(A)'],
])

t.test('names are replaced once, what is no name stays, and $$ is a dollar sign', async (t) => {
  const expanded = {
    '$(A)-$(A)': 'a-a',
    '$(B)': '$(A)',
    '$(C)': '$(C)',
    '$$(A)': '$(A)',
    '$$$(A)$$': '$a$',
    '$A $': '$A $',
    '$(A)$(A': 'a$(A',
    '$(A$$$(': '$(A$$(',
  }
  for (const [text, wanted] of Object.entries(expanded)) t.equal(expand(text, values), wanted, text)
})

t.test('a text may begin names all along and end none', async (t) => {
  const text = '$('.repeat(500_000)
  t.ok(expand(text, values) === text)
})
