import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { canChangeCode } from './can-change-code.js'
import { CopiedCheckout } from './copied-checkout.js'
import { judge } from './judge.js'
import { mutantsOf } from './mutants-of.js'
import { Tester } from './tester.js'

const inOneProcess = {
  skip: !(await canChangeCode()) && 'the V8 of this Node changes no running code',
}

t.test('a line has a mutant for each mistake that can be made in it', (t) => {
  const after = (code: string) => mutantsOf(code).map((one) => one.after)
  t.strictSame(after('const a = b === c && d;'), [
    'const a = b !== c && d;',
    'const a = b === c || d;',
  ])
  t.strictSame(after('    if (a < 1) {'), [
    '    if (a <= 1) {',
    '    if (true || a < 1) {',
    '    if (false && a < 1) {',
  ])
  t.strictSame(after('    throw new Error(x);'), ['    ;'])
  t.strictSame(after('    await this.#write(x, y);'), ['    ;'])
  t.strictSame(after('// a === b\nimport a from "b"'), [])
  t.end()
})

t.test('a mutant dies where something notices, and leaves the code as it was', async (t) => {
  const checkout = new CopiedCheckout()
  t.teardown(() => checkout.close())
  const file = 'dist/src/collections/lru.js'
  const code = checkout.read(file)
  const mutant = mutantsOf(code).find((one) => one.after.includes('>= this.#max'))!
  const timeoutMs = 60_000
  const fateBy = (command: string) => judge(checkout, { file, mutant, command, timeoutMs })
  const isFull = `node -e "import('./${file}').then(({ Lru }) => {
    const lru = new Lru(1); lru.set('a', 1); process.exit(lru.size === 1 ? 0 : 1) })"`
  t.equal(await fateBy(isFull), 'dies')
  t.equal(await fateBy('true'), 'lives')
  t.equal(await fateBy('sleep 1000 & exit 1'), 'dies', 'whatever it leaves behind')
  t.equal(checkout.read(file), code)
})

t.test(
  'tests that run inside notice what they import, again and again',
  inOneProcess,
  async (t) => {
    const test = fileURLToPath(new URL('../collections/kept.test.js', import.meta.url))
    const file = fileURLToPath(new URL('../../src/collections/kept.js', import.meta.url))
    const code = readFileSync(file, 'utf8')
    const tester = new Tester([test], 60_000)
    t.teardown(() => tester.close())
    const fates = { dies: 0, lives: 0, invalid: 0, stuck: 0 }
    for (const mutant of mutantsOf(code)) fates[await tester.judge(file, code, mutant)]++
    t.ok(fates.dies > 0)
    t.match(fates, { invalid: 0, stuck: 0 })
    const [before] = code.split('\n')
    const none = { line: 0, before: before!, after: before! }
    t.equal(await tester.judge(file, code, none), 'lives', 'what has been tried is gone')
    t.equal(await tester.judge(file, code, { ...none, after: '{' }), 'invalid')
    t.equal(await tester.judge(`${file}.other`, code, none), 'stuck')
  },
)

for (const { what, by, of } of [
  {
    what: 'so do those of a file that has something done behind its tests',
    by: '../storage/encrypted/encrypted-driver.test.js',
    of: '../../storage/encrypted/aes.js',
  },
  {
    what: 'so do those that start a server: it is made of the modules then',
    by: '../server/policy-authorizer.test.js',
    of: '../../src/authz/rbac.js',
  },
])
  t.test(what, inOneProcess, async (t) => {
    const file = fileURLToPath(new URL(of, import.meta.url))
    const code = readFileSync(file, 'utf8')
    const tester = new Tester([fileURLToPath(new URL(by, import.meta.url))], 60_000)
    t.teardown(() => tester.close())
    const before = code.split('\n')[0]!
    t.equal(await tester.judge(file, code, { line: 0, before, after: before }), 'lives')
  })
