/** Compiled code is kept beside a bundle, and never believed when it is another's or damaged. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import t, { type Test } from 'tap'
import { CompiledBundle } from '#commands/compiled-bundle.js'
import { temporaryDirectory } from '#test/storage/level-fixture.js'
import { collectGarbage } from '../collect-garbage.js'

const bundleSaying = (word: string): string =>
  `const path = require('node:path')
exports.word = '${word}'
exports.folder = path.basename(__dirname)`

interface Exported {
  word: string
  folder: string
}

const written = (t: Test) => {
  const directory = temporaryDirectory(t)
  const file = path.join(directory, 'bundle.cjs')
  writeFileSync(file, bundleSaying('first'))
  return {
    file,
    directory,
    cached: () => readdirSync(directory).filter((name) => name !== 'bundle.cjs'),
    /** What a start gives, and whether it had compiled code to start from. */
    start: () => {
      const bundle = new CompiledBundle(file)
      const exported = bundle.run() as Exported
      const before = readdirSync(directory)
      for (const name of before) if (name.endsWith('.cache')) rmSync(path.join(directory, name))
      bundle.keep()
      const isWarm = !readdirSync(directory).some((name) => name.endsWith('.cache'))
      if (isWarm) new CompiledBundle(file).keep()
      return { exported, isWarm }
    },
  }
}

t.test('the first start keeps compiled code, the next one takes it', async (t) => {
  const { start, directory, cached } = written(t)
  const first = start()
  t.equal(first.isWarm, false)
  t.equal(cached().length, 1)
  t.match(cached()[0], process.version, 'V8 alone would take what another Node compiled, and crash')
  const second = start()
  t.equal(second.isWarm, true)
  t.equal(second.exported.word, 'first')
  t.equal(second.exported.folder, path.basename(directory))
})

t.test('what ran long before it is kept is kept, too', async (t) => {
  const { file, start, directory, cached } = written(t)
  t.teardown(() => setFlagsFromString('--no-stress-flush-code'))
  // Each collection drops what it may, not only what is old.
  setFlagsFromString('--stress-flush-code')
  const statements = Array.from({ length: 1000 }, (_, i) => `exports.word = 'word ${i}'`)
  writeFileSync(file, statements.join('\n'))
  const keptAfter = (collections: number): number => {
    const bundle = new CompiledBundle(file)
    bundle.run()
    for (let i = 0; i < collections; i++) collectGarbage()
    bundle.keep()
    const [name] = cached()
    const { length } = readFileSync(path.join(directory, name!))
    t.equal(start().isWarm, true)
    rmSync(path.join(directory, cached()[0]!))
    return length
  }
  t.equal(keptAfter(1), keptAfter(0))
})

t.test('compiled code of another bundle is not run, even one of the same length', async (t) => {
  const { file, start } = written(t)
  start()
  writeFileSync(file, bundleSaying('other'))
  const changed = start()
  t.equal(changed.exported.word, 'other')
  t.equal(changed.isWarm, false)
  t.equal(start().isWarm, true)
})

t.test('damaged compiled code is made anew', async (t) => {
  const { directory, cached, start } = written(t)
  start()
  const cache = path.join(directory, cached()[0]!)
  const whole = readFileSync(cache)
  const flipped = Buffer.from(whole)
  flipped[whole.length >> 1]! ^= 1
  for (const damaged of [flipped, whole.subarray(0, whole.length >> 1), Buffer.alloc(0)]) {
    writeFileSync(cache, damaged)
    const { isWarm, exported } = start()
    t.equal(isWarm, false)
    t.equal(exported.word, 'first')
  }
})

t.test('without a place to keep it everything works as well', async (t) => {
  const { file, directory } = written(t)
  const bundle = new CompiledBundle(file)
  rmSync(directory, { recursive: true })
  t.equal((bundle.run() as Exported).word, 'first')
  bundle.keep()
  t.throws(() => readdirSync(directory), { code: 'ENOENT' })
})
