/** `npm start` under a supervisor, which signals npm alone: npm hands that to the shell of the script, and shells keep it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageRoot } from '#program/package-root.js'
import { eventually } from '../eventually.js'
import { killGroup } from '../kill-group.js'

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })

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
  let said = ''
  npm.stderr.on('data', (chunk) => (said += chunk))
  const port = await eventually('the server', () =>
    Number(/ready https:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1] ?? 0),
  )
  t.ok(await isOpen(port))
  npm.kill('SIGTERM')
  await once(npm, 'exit')
  await eventually('its end', async () => !(await isOpen(port)))
})
