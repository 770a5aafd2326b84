import t from 'tap'
import { trimSpace } from '#go/trim-space.js'

t.test('spaces are those of Unicode, among them no mark of byte order', async (t) => {
  for (const space of [' ', '\t', '\v', '\u0085', '\u00a0', '\u1680', '\u2028', '\u3000'])
    t.equal(trimSpace(`${space}${space}a${space}b${space}`), `a${space}b`)
  for (const text of ['\ufeffa\ufeff', '\u200ba', '\u180ea', 'a', ''])
    t.equal(trimSpace(text), text)
  t.equal(trimSpace(' \n '), '')
})
