import t from 'tap'
import { durationProblem } from '#api/duration.js'

t.test('durations are refused in the words of Go', async (t) => {
  for (const [text, problem] of [
    ['x', 'time: invalid duration "x"'],
    ['.s', 'time: invalid duration ".s"'],
    ['10', 'time: missing unit in duration "10"'],
    ['1ms ', 'time: unknown unit "ms " in duration "1ms "'],
  ] as const)
    t.equal(durationProblem(text), problem)
  for (const text of ['1s', '-1s', '1.5h', '100h', '1h2m3.5s', '0'])
    t.equal(durationProblem(text), undefined, text)
})
