/** What a volume that shows objects holds when something goes wrong on the way. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { type Files, writeAtomically } from '#kubelet/volumes/atomic-writer.js'

const folderOf = (t: Test) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-writer-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}
const filesOf = (...names: string[]): Files =>
  new Map(names.map((name) => [name, { content: Buffer.from(name), mode: 0o644 }]))
let now = 0
const write = (folder: string, files: Files) =>
  writeAtomically(folder, files, { now: ++now, fsGroup: undefined })

t.test('a path may be written in any way that leads to its file', async (t) => {
  const folder = folderOf(t)
  await write(folder, filesOf('./a', 'b//c', 'd/./e'))
  t.equal(readFileSync(path.join(folder, 'a'), 'utf8'), './a')
  t.equal(readFileSync(path.join(folder, 'b/c'), 'utf8'), 'b//c')
  t.equal(readFileSync(path.join(folder, 'd/e'), 'utf8'), 'd/./e')
})

t.test(
  'files that cannot be written leave nothing behind, however often it is tried',
  async (t) => {
    const folder = folderOf(t)
    await write(folder, filesOf('a'))
    const before = readdirSync(folder)
    await t.rejects(write(folder, filesOf('a', 'a/b')))
    await t.rejects(write(folder, filesOf('a', 'a/b')))
    t.same(readdirSync(folder), before)
  },
)

t.test('a kubelet goes on where one was killed that had written all but the links', async (t) => {
  const folder = folderOf(t)
  await write(folder, filesOf('a', 'b'))
  rmSync(path.join(folder, 'b'))
  symlinkSync('..data/old', path.join(folder, 'old'))
  await write(folder, filesOf('a', 'b'))
  t.equal(readFileSync(path.join(folder, 'b'), 'utf8'), 'b')
  t.notOk(readdirSync(folder).includes('old'))
})
