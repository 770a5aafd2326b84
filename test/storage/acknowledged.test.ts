/** The newest revision that was acknowledged, in two slots of which one may be torn at any time. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { Acknowledged } from '#storage/level/acknowledged.js'
import { temporaryDirectory } from './level-fixture.js'

/** What the file says, whoever has it open. */
const readAnew = (directory: string): number => {
  const file = new Acknowledged(directory)
  const revision = file.read()
  file.close()
  return revision
}

t.test('a write that is torn at any byte leaves what was acknowledged before it', (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'ACKNOWLEDGED')
  const step = fc.record({
    by: fc.integer({ min: 1, max: 2 ** 40 }),
    opensAnew: fc.boolean(),
    tornAt: fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      writeFileSync(path, '')
      let file = new Acknowledged(directory)
      t.equal(file.read(), 0, 'nothing was')
      let newest = 0
      for (const { by, opensAnew, tornAt } of steps) {
        if (opensAnew) {
          file.close()
          file = new Acknowledged(directory)
          t.equal(file.read(), newest)
        }
        const before = readFileSync(path)
        file.write(newest + by)
        t.equal(readAnew(directory), newest + by)
        if (tornAt === undefined) {
          newest += by
          continue
        }
        // Of the new slot only the first bytes came to the disk; whoever opens it then goes on.
        const after = readFileSync(path)
        const at = [0, 16].find(
          (slot) => !after.subarray(slot, slot + 16).equals(before.subarray(slot, slot + 16)),
        )!
        const old = Buffer.concat([before, Buffer.alloc(32)]).subarray(at, at + 16)
        const torn = Buffer.concat([after.subarray(at, at + tornAt), old.subarray(tornAt)])
        const opened = openSync(path, 'r+')
        writeSync(opened, torn, 0, 16, at)
        closeSync(opened)
        file.close()
        file = new Acknowledged(directory)
        const found = file.read()
        t.ok(
          found === newest || torn.equals(after.subarray(at, at + 16)),
          `${found}, not ${newest}`,
        )
        newest = found
      }
      file.close()
    }),
    { numRuns: 60 },
  )
  t.end()
})
