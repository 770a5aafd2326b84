// Brings the checkout to where `npm start` and `npm test` can run: installs and builds, each only when needed.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const forTests = process.argv.includes('--test')
const run = (what, command, args) => {
  process.stderr.write(`kubelevel: ${what} …\n`)
  const done = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (done.status !== 0) process.exit(done.status ?? 1)
}

const newest = (folder) => {
  if (!existsSync(folder)) return 0
  let time = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    time = Math.max(time, entry.isDirectory() ? newest(file) : statSync(file).mtimeMs)
  }
  return time
}

const installed = path.join(root, 'node_modules', '.package-lock.json')
const lock = path.join(root, 'package-lock.json')
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  run('installing dependencies', 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
}
const built = path.join(root, 'dist', 'bundle', 'main.js')
const tsconfig = path.join(root, 'tsconfig.json')
const { include } = JSON.parse(readFileSync(tsconfig, 'utf8'))
const sources = Math.max(
  ...[...include, 'scripts'].map((folder) => newest(path.join(root, folder))),
  statSync(tsconfig).mtimeMs,
)
if (!existsSync(built) || statSync(built).mtimeMs < sources)
  run('building', 'npm', ['run', '--silent', 'build'])
// tap's TypeScript plugin crashes on TypeScript 7, and that for mocks is not used; `tap build` makes the removal of plugins
// take effect, once per install and choice of plugins.
const plugged = path.join(root, 'node_modules', '.kubelevel-tap-built')
if (forTests) {
  const { plugin } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).tap
  const wanted = `${readFileSync(lock, 'utf8').length} ${plugin}`
  if (!existsSync(plugged) || readFileSync(plugged, 'utf8') !== wanted) {
    run('preparing tap', path.join(root, 'node_modules', '.bin', 'tap'), ['build'])
    writeFileSync(plugged, wanted)
  }
}
