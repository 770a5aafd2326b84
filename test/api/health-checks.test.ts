import t from 'tap'
import { answerAllChecks, type HealthCheck } from '#api/health-checks.js'

const passing = (name: string): HealthCheck => ({ name, check: () => undefined })

t.test('names that exclude nothing are told in order, as Go quotes them', async (t) => {
  const asked = { exclude: ['b\u0000', 'ping', 'a"', 'ping', '\u0085'], isVerbose: true }
  const { text } = await answerAllChecks(
    'readyz',
    [passing('ping'), passing('log')],
    asked,
    () => {},
  )
  t.equal(
    text,
    `[+]ping excluded: ok
[+]log ok
warn: some health checks cannot be excluded: no matches for "a\\"","b\\x00","\\u0085"
readyz check passed
`,
  )
})
