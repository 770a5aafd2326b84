import t from 'tap'
import { durationMs, durationProblem } from '#go/duration.js'

t.test('durations are refused in the words of Go', async (t) => {
  for (const [text, problem] of [
    ['x', 'time: invalid duration "x"'],
    ['.s', 'time: invalid duration ".s"'],
    ['10', 'time: missing unit in duration "10"'],
    ['1ms ', 'time: unknown unit "ms " in duration "1ms "'],
    ['µs', 'time: invalid duration "\\xc2\\xb5s"'],
    ['"', 'time: invalid duration "\\""'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    ['2562048h', 'time: invalid duration "2562048h"'],
    ['2562047h1h', 'time: invalid duration "2562047h1h"'],
  ] as const)
    t.equal(durationProblem(text), problem)
  for (const text of [
    '1s',
    '-1s',
    '1.5h',
    '100h',
    '1h2m3.5s',
    '0',
    '5µs',
    '-9223372036854775808ns',
  ])
    t.equal(durationProblem(text), undefined, text)
})

t.test('parts of a unit are calculated as by Go', async (t) => {
  for (const [text, ms] of [
    ['0.29h', 1_044_000],
    ['0.57m', 34_200],
    ['0.0157s', 15.7],
    ['.5s', 500],
    ['1.s', 1_000],
    ['-1.5h', -5_400_000],
    [`${'0'.repeat(30)}1h`, 3_600_000],
  ] as const)
    t.equal(durationMs(text), ms, text)
})
