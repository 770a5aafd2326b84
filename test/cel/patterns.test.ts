/** Patterns of expressions and schemas. */
import t from 'tap'
import { compilePattern, matchesPattern } from '#cel/patterns.js'
import { limits } from '#limits'

t.test('those that objects bring are not kept when they are long', async (t) => {
  const long = 'ab'.repeat(limits.patternCharactersKeptMax)
  t.ok(matchesPattern(long, `x${long}`))
  t.not(compilePattern(long), compilePattern(long))
  t.equal(compilePattern('^a+$'), compilePattern('^a+$'))
})
