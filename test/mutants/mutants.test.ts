import t from 'tap'
import { CopiedCheckout } from './copied-checkout.js'
import { judge } from './judge.js'
import { mutantsOf } from './mutants-of.js'

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
