import t from 'tap'
import { parseHexFloat } from '#go/hex-float.js'

t.test('numbers in base 16 are those of strconv.ParseFloat', async (t) => {
  const read: [string, number][] = [
    ['0x1p4', 16],
    ['0X1.8P1', 3],
    ['0x.8p0', 0.5],
    ['0x1.p0', 1],
    ['+0x_1_fp+1_0', 31_744],
    ['-0x0p0', -0],
    ['0x0p99999', 0],
    ['0x1p-1080', 0],
    ['0x1p1024', Number.POSITIVE_INFINITY],
    ['0x1.fffffffffffff7p1023', Number.MAX_VALUE],
    ['0x1.fffffffffffff8p1023', Number.POSITIVE_INFINITY],
    ['0x0.0000000000001p-1022', 5e-324],
    ['0x0.00000000000008p-1022', 0],
    ['0x0.000000000000080000001p-1022', 5e-324],
    ['0x1.00000000000008p0', 1],
    ['0x1.000000000000080001p0', 1 + Number.EPSILON],
    ['0x123456789abcdef123456789abcdefp-100', 74_565.404_444_444_44],
  ]
  for (const [text, number] of read) t.equal(parseHexFloat(text), number, text)
  for (const text of ['0x10', '0x.p0', '0xp0', '0x1__fp0', '0x1._8p0', '0x1_.8p0', '0x1p', '1p4'])
    t.equal(parseHexFloat(text), undefined, text)
})

t.test('a long text is read in one walk', async (t) => {
  t.equal(parseHexFloat(`0x${'0'.repeat(200_000)}1.${'0'.repeat(200_000)}p0`), 1)
})
