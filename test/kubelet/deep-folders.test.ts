/** A container that nests folders deeper than a path can be long hides nothing in them, and leaves nothing behind. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { diskUsageOf } from '#kubelet/volumes/disk-usage.js'
import { removeTree, removeTreeSync } from '#program/remove-tree.js'

const megabyte = 1024 * 1024
const nobody = 65_534
const script = `const fs = require('node:fs'), name = '0'.repeat(200)
for (let i = 0; i < 60; i++) fs.mkdirSync(name), process.chdir(name)
fs.writeFileSync('file', require('node:crypto').randomBytes(${megabyte}))`

const makeDeep = (): string => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'deep-folders-'))
  execFileSync(process.execPath, ['-e', script], { cwd })
  return cwd
}

t.test('what lies in them counts, and they go with the rest', async (t) => {
  const folder = makeDeep()
  const { bytes, inodes } = await diskUsageOf(folder)
  t.ok(bytes >= megabyte)
  t.equal(inodes, 62)
  await removeTree(folder)
  t.notOk(existsSync(folder))
  const another = makeDeep()
  removeTreeSync(another)
  t.notOk(existsSync(another))
  await removeTree(another)
})

t.test(
  'a folder that its Pod has closed to a kubelet that is not root hides nothing else',
  async (t) => {
    const folder = t.testdir({ closed: { file: '' }, open: { file: 'x'.repeat(megabyte) } })
    chmodSync(path.join(folder, 'closed'), 0o444)
    const isRoot = process.geteuid?.() === 0
    if (isRoot) process.seteuid!(nobody)
    try {
      const { bytes, inodes } = await diskUsageOf(folder)
      t.ok(bytes >= megabyte)
      t.equal(inodes, 4)
    } finally {
      if (isRoot) process.seteuid!(0)
      chmodSync(path.join(folder, 'closed'), 0o755)
    }
  },
)
