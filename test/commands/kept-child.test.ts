/** Children of `kubelevel up` that the system refuses to start: each in Node's own way. */
import { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { keepRunning } from '#commands/kept-child.js'
import type { Machine } from '#commands/machine.js'
import { eventually } from '../eventually.js'

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-child-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const sign = path.join(folder, 'started')
const mainFile = path.join(folder, 'main.cjs')
writeFileSync(
  mainFile,
  `require('node:fs').writeFileSync(${JSON.stringify(sign)}, process.argv.slice(2).join(' '))
process.on('disconnect', () => process.exit())`,
)

/** More than the system takes as one argument. */
const endless = 'x'.repeat(4 * 1024 * 1024)
const refusals: [code: string, where: Pick<Machine, 'nodePath' | 'mainFile'>][] = [
  ['ENOENT', { nodePath: path.join(folder, 'gone'), mainFile }],
  ['EACCES', { nodePath: mainFile, mainFile }],
  ['E2BIG', { nodePath: process.execPath, mainFile: endless }],
]

for (const [code, where] of refusals)
  t.test(
    `${code}: a child is tried again until it starts, and its end is waited for`,
    async (t) => {
      rmSync(sign, { force: true })
      let said = ''
      const machine = { ...where, now: () => Date.now(), stderr: (text: string) => (said += text) }
      const child = keepRunning(machine as unknown as Machine, 'scheduler', ['--v=1'])
      t.teardown(() => child.stop())
      await eventually('the word of it', () => said.includes('again in'))
      t.match(said, `kubelevel up: scheduler was not started (`)
      t.match(said, code)
      Object.assign(machine, { nodePath: process.execPath, mainFile })
      // The file is there before its text is.
      const told = (): string => (existsSync(sign) ? readFileSync(sign, 'utf8') : '')
      t.equal(await eventually('the child', told), 'scheduler --v=1')
      await child.stop()
      t.equal(said.trim().split('\n').length, 1, 'one line')
    },
  )

t.test('stopping a child that was not started signals nobody', async (t) => {
  const killed: unknown[] = []
  const { kill } = ChildProcess.prototype
  t.teardown(() => Object.assign(ChildProcess.prototype, { kill }))
  Object.assign(ChildProcess.prototype, {
    kill(this: ChildProcess, signal: NodeJS.Signals) {
      // Of a child without a pid, Node signals the process group of whoever asks.
      killed.push(this.pid)
      return this.pid === undefined ? false : kill.call(this, signal)
    },
  })
  const machine = { nodePath: path.join(folder, 'gone'), mainFile, now: () => Date.now() }
  const child = keepRunning({ ...machine, stderr: () => {} } as unknown as Machine, 'kubelet', [])
  await child.stop()
  t.same(killed, [])
})
