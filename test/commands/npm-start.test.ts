/** `npm start` and npx under a supervisor, which signals them alone: npm hands that to its shell, and shells keep it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageRoot } from '#program/package-root.js'
import { eventually } from '../eventually.js'
import { killGroup } from '../kill-group.js'
import { mainFile } from '../main-file.js'

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })

const started = async (child: ChildProcessByStdio<null, null, Readable>): Promise<number> => {
  let said = ''
  child.stderr.on('data', (chunk) => (said += chunk))
  return eventually('the server', () =>
    Number(/ready https:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1] ?? 0),
  )
}

t.test('what ends npm ends the server that it started', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-npm-start-'))
  const args = ['--secure-port=0', '--storage=memory:', `--data-dir=${folder}`]
  const npm = spawn('npm', ['start', '--ignore-scripts', '--', ...args], {
    cwd: fileURLToPath(packageRoot),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  t.teardown(() => {
    killGroup(npm)
    rmSync(folder, { recursive: true, force: true })
  })
  const port = await started(npm)
  t.ok(await isOpen(port))
  npm.kill('SIGTERM')
  await once(npm, 'exit')
  await eventually('its end', async () => !(await isOpen(port)))
})

t.test(
  'one Ctrl-C, which npm hands on to those who have it already, ends all as it should',
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-ctrl-c-'))
    const args = ['up', '--secure-port=0', '--storage=memory:', `--data-dir=${folder}`]
    const up = spawn(process.execPath, [mainFile, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    t.teardown(() => {
      killGroup(up)
      rmSync(folder, { recursive: true, force: true })
    })
    await started(up)
    const ended = once(up, 'exit')
    process.kill(-up.pid!, 'SIGINT')
    up.kill('SIGINT')
    t.same(await ended, [0, null])
  },
)

t.test('what ends npx ends the server that it started', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-npx-'))
  const serve = `'${process.execPath}' '${mainFile}' serve --secure-port=0 --storage=memory:`
  // As npx does it: a signal that it gets ends the shell alone. The second command keeps the shell from becoming the first.
  const shell = spawn('sh', ['-c', `${serve} --data-dir='${folder}'; true`], {
    env: { ...process.env, npm_lifecycle_event: 'npx' },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  t.teardown(() => {
    killGroup(shell)
    rmSync(folder, { recursive: true, force: true })
  })
  const port = await started(shell)
  shell.kill('SIGTERM')
  await eventually('its end', async () => !(await isOpen(port)))
})
