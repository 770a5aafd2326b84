/** What a container may have put in the place of a file that the kubelet reads. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readForeignFile } from '#kubelet/foreign-file.js'
import { readBelow } from '#kubelet/volumes/sub-path.js'

t.test('a FIFO is refused, and nobody waits for its writer', async (t) => {
  const folder = t.testdir()
  // As many as there are threads for files.
  const names = ['a', 'b', 'c', 'd'].map((name) => path.join(folder, name))
  execFileSync('mkfifo', names)
  for (const name of names)
    await t.rejects(readForeignFile(name, { bytesMax: 1 }), { message: 'it is no file' })
})

t.test('of a volume, what lies in it and is not too long', async (t) => {
  const root = t.testdir({ outside: 'o', volume: { file: 'text', empty: '' } })
  const volume = path.join(root, 'volume')
  t.equal(await readBelow(volume, 'file', 4), 'text')
  t.equal(await readBelow(volume, '../file', 4), 'text', 'it has no parent')
  t.equal(await readBelow(volume, 'empty', 4), '')
  await t.rejects(readBelow(volume, 'file', 3), { message: 'it is longer than 3 bytes' })
  symlinkSync('../outside', path.join(volume, 'out'))
  await t.rejects(readBelow(volume, 'out', 4), /is outside/)
  mkdirSync(path.join(volume, 'folder'))
  await t.rejects(readBelow(volume, 'folder', 4), /is no file/)
  writeFileSync(path.join(volume, 'link-target'), 'in')
  symlinkSync('link-target', path.join(volume, 'in'))
  t.equal(await readBelow(volume, 'in', 4), 'in')
})

t.test('what has come to lie elsewhere since it was looked for is not read', async (t) => {
  const root = t.testdir({ outside: { file: 'secret' }, volume: {} })
  const volume = path.join(root, 'volume')
  symlinkSync('../outside', path.join(volume, 'folder'))
  await t.rejects(
    readForeignFile(path.join(volume, 'folder', 'file'), {
      bytesMax: 10,
      mayLieAt: (opened) => opened.startsWith(volume),
    }),
    /outside\/file is outside/,
  )
})
