import t from 'tap'
import { durationProblem } from '#go/duration.js'

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
