/** Bytes of clients as the text that Go makes of them. */
import fc from 'fast-check'
import t from 'tap'
import { textOf } from '#json/utf8.js'

t.test('each byte of no character is one replacement character', (t) => {
  for (const [bytes, text] of [
    [[0x61, 0xff, 0x62], 'a\ufffdb'],
    [[0xe2, 0x82], '\ufffd\ufffd'],
    [[0xf0, 0x9f, 0x98, 0x61], '\ufffd\ufffd\ufffda'],
    [[0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
    [[0xc0, 0x80], '\ufffd\ufffd'],
    [[0xef, 0xbf, 0xbd, 0xe2, 0x82, 0xac, 0x80], '\ufffd€\ufffd'],
  ] as const)
    t.equal(textOf(Buffer.from(bytes)), text)
  t.end()
})

t.test('what is text around it stays as it was', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (given) => {
      const bytes = Buffer.from(given)
      const text = bytes.toString()
      t.equal(textOf(Buffer.concat([bytes, Buffer.of(0xff), bytes])), `${text}\ufffd${text}`)
    }),
    { numRuns: 200 },
  )
  t.end()
})
