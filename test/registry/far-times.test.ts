/** Times that their zone leads out of the years 0 to 9999; the texts are those of kube-apiserver v1.36.3. */
import t from 'tap'
import { parseTime } from '#api/clock.js'
import { canonicalTime } from '#registry/decode/times.js'

t.test('a time beyond the years that can be written is shown as by Go', async (t) => {
  for (const [given, shown, ms] of [
    ['0000-01-01T00:00:00+01:00', '-0001-12-31T23:00:00Z', -62_167_222_800_000],
    ['9999-12-31T23:59:59-01:00', '10000-01-01T00:59:59Z', 253_402_304_399_000],
    ['0001-01-01T00:00:00+01:00', '0000-12-31T23:00:00Z', -62_135_600_400_000],
    ['2026-01-01T00:00:00+01:00', '2025-12-31T23:00:00Z', 1_767_222_000_000],
  ] as const) {
    t.equal(canonicalTime(given, false), shown)
    t.equal(parseTime(shown), ms)
    const micro = given.replace(/:\d\d[+-]/, (end) => `${end.slice(0, -1)}.123456${end.slice(-1)}`)
    t.equal(canonicalTime(micro, true), shown.replace('Z', '.123456Z'))
    t.equal(parseTime(shown.replace('Z', '.123456Z')), ms + 123)
  }
})
