/** How many warnings an answer has, and how much of each. */
import t from 'tap'
import { warner } from '#routes/warnings.js'

const told = (...texts: string[]): string[] => {
  let value: string | string[] = '299 - "of another filter"'
  const reply = {
    getHeader: () => value,
    header: (_name: string, next: string | string[]) => (value = next),
  }
  const warn = warner(reply as never)
  for (const text of texts) warn(text)
  return [value].flat().slice(1)
}
const shown = (text: string): string => `299 - "${text}"`

t.test(
  'each warning is told once, quoted, and without those that no header can hold',
  async (t) => {
    t.same(told('a "b" \\', '', 'a "b" \\', 'c\n', 'é'), [
      shown('a \\"b\\" \\\\'),
      Buffer.from(shown('é')).toString('latin1'),
    ])
  },
)

t.test(
  'when they are too many all are cut, and more are told until they are too many again',
  async (t) => {
    const long = (letter: string) => letter.repeat(2_000)
    const cut = (letter: string) => shown(letter.repeat(256))
    t.same(told(long('a'), long('b')), [shown(long('a')), shown(long('b'))])
    t.same(told(long('a'), long('b'), long('c'), 'd'), [cut('a'), cut('b'), cut('c'), shown('d')])
    const many = Array.from({ length: 30 }, (_, i) => String(i).padStart(300))
    t.equal(told(...many).length, 16)
    t.same(told('😀'.repeat(4_096)), [Buffer.from(shown('😀'.repeat(4_096))).toString('latin1')])
    const short = Array.from({ length: 60 }, (_, i) => String(i).padStart(100))
    t.equal(told(...short).length, 41, 'the first that is too much is told')
  },
)
