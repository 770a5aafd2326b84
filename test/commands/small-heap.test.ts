/** That V8 takes these flags while it runs, which a new version of Node may change without a word. */
import { execFileSync } from 'node:child_process'
import t from 'tap'

/** Keeps little of much, as an informer does; prints the bytes of the nursery that this took. */
const churn = `
  const kept = new Map()
  for (let i = 0; i < 60_000; i++) kept.set(i % 20_000, JSON.parse('{"a":{"b":["x' + i + '"]}}'))
  const spaces = (await import('node:v8')).getHeapSpaceStatistics()
  process.stdout.write(String(spaces.find((space) => space.space_name === 'new_space').space_size))
`
const module = new URL('../../src/commands/small-heap.js', import.meta.url).href
const nurseryAfter = (first: string): number =>
  Number(
    execFileSync(process.execPath, ['--input-type=module', '-e', `${first}\n${churn}`], {
      encoding: 'utf8',
    }),
  )

t.test('the nursery of a process that keeps its heap small does not grow', async (t) => {
  const small = nurseryAfter(`(await import('${module}')).keepHeapSmall()`)
  t.ok(small <= 3 << 20, `${small} bytes`)
  t.ok(nurseryAfter('') > 2 * small, 'which it does else')
})

/** Goes on with the same in small pieces until the nursery has grown. */
const busy = `
  const v8 = await import('node:v8')
  const nursery = () => v8.getHeapSpaceStatistics().find((s) => s.space_name === 'new_space').space_size
  const kept = new Map()
  let made = 0
  const churn = () => {
    for (let i = 0; i < 2_000; i++, made++) kept.set(made % 20_000, JSON.parse('{"a":{"b":["x' + made + '"]}}'))
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  while (nursery() <= 3 << 20) { churn(); await turn() }
  process.stdout.write('grown')
`

t.test('that of one that has been busy for a while does', async (t) => {
  const first = `(await import('${module}')).keepHeapSmall()`
  const program = ['--input-type=module', '-e', `${first}\n${busy}`]
  const output = execFileSync(process.execPath, program, { encoding: 'utf8', timeout: 60_000 })
  t.equal(output, 'grown')
})
