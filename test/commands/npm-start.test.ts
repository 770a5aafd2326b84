/** `npm start` and npx under a supervisor, which signals them alone: npm hands that to its shell, and shells keep it. */
import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { packageRoot } from '#program/package-root.js'
import { eventually } from '../eventually.js'
import { killGroup } from '../kill-group.js'
import { mainFile } from '../main-file.js'

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })

/** In a group of its own, which ends with the test, and with a folder for its data. `args` are for that folder. */
const spawned = (
  t: Test,
  command: string,
  args: (folder: string) => readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'> = {},
): ChildProcessByStdio<null, null, Readable> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-npm-start-'))
  const child = spawn(command, args(folder), {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  t.teardown(() => {
    killGroup(child)
    rmSync(folder, { recursive: true, force: true })
  })
  return child
}

const started = async (child: ChildProcessByStdio<null, null, Readable>): Promise<number> => {
  let said = ''
  child.stderr.on('data', (chunk) => (said += chunk))
  return eventually('the server', () =>
    Number(/ready https:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1] ?? 0),
  )
}

const ofServer = (folder: string) => [
  '--secure-port=0',
  '--storage=memory:',
  `--data-dir=${folder}`,
]

t.test('what ends npm ends the server that it started', async (t) => {
  const args = (folder: string) => ['start', '--ignore-scripts', '--', ...ofServer(folder)]
  const npm = spawned(t, 'npm', args, { cwd: fileURLToPath(packageRoot) })
  const port = await started(npm)
  t.ok(await isOpen(port))
  npm.kill('SIGTERM')
  await once(npm, 'exit')
  await eventually('its end', async () => !(await isOpen(port)))
})

t.test(
  'one Ctrl-C, which npm hands on to those who have it already, ends all as it should',
  async (t) => {
    const args = (folder: string) => [mainFile, 'up', ...ofServer(folder)]
    const up = spawned(t, process.execPath, args)
    await started(up)
    const ended = once(up, 'exit')
    process.kill(-up.pid!, 'SIGINT')
    up.kill('SIGINT')
    t.same(await ended, [0, null])
  },
)

/** Who has asked a server that `up` starts, with these flags, until somebody has asked who is in `awaited`. */
const usersOf = async (t: Test, flags: readonly string[], awaited: readonly string[]) => {
  let log = ''
  const args = (folder: string) => {
    log = path.join(folder, 'audit.log')
    const policy = path.join(folder, 'policy.json')
    const rules = [{ level: 'Metadata' }]
    writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }))
    const audit = [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`]
    return [mainFile, 'up', ...ofServer(folder), ...audit, ...flags]
  }
  await started(spawned(t, process.execPath, args))
  return eventually('they have asked', () => {
    const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
    const users = new Set(lines.map((line): string => JSON.parse(line).user.username))
    return awaited.every((user) => users.has(user)) ? users : undefined
  })
}

t.test('processes of a cluster are who they are in any, where authorizers know them', async (t) => {
  const account = (name: string) => `system:serviceaccount:kube-system:${name}`
  await usersOf(
    t,
    [],
    [
      `system:node:${hostname().toLowerCase()}`,
      'system:kube-scheduler',
      'system:kube-controller-manager',
      account('root-ca-cert-publisher'),
      account('service-account-controller'),
      'kubernetes-admin',
    ],
  )
  const users = await usersOf(t, ['--authorization-mode=AlwaysAllow'], ['kubernetes-admin'])
  t.same(
    [...users].filter((user) => /^system:(kube|node)/.test(user)),
    [],
  )
})

t.test('what ends npx ends the server that it started', async (t) => {
  // As npx does it: a signal that it gets ends the shell alone. The second command keeps the shell from becoming the first.
  const script = (folder: string): string => {
    const words = [process.execPath, mainFile, 'serve', ...ofServer(folder)]
    return `${words.map((word) => `'${word}'`).join(' ')}; true`
  }
  const shell = spawned(t, 'sh', (folder) => ['-c', script(folder)], {
    env: { ...process.env, npm_lifecycle_event: 'npx' },
  })
  const port = await started(shell)
  shell.kill('SIGTERM')
  await eventually('its end', async () => !(await isOpen(port)))
})
