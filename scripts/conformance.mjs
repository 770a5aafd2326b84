// Plays the recorded conversations of a real kube-apiserver against a fresh server of this checkout and holds the
// floor of test/conformance/floor.json: scenarios that must pass, per area. `--raise` writes what passes now. `--etcd` plays
// over an etcd of its own instead of memory; names of areas play those alone.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const oracle = path.resolve(root, '../shared/oracle/oracle.mjs')
const floorFile = path.join(root, 'test/conformance/floor.json')
const raise = process.argv.includes('--raise')
const onEtcd = process.argv.includes('--etcd')
const chosen = process.argv.slice(2).filter((word) => !word.startsWith('--'))

if (!existsSync(oracle)) {
  console.log('conformance: no recordings beside this checkout (../shared/oracle): skipped')
  process.exit(0)
}

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-conformance-'))
const tokens = path.join(folder, 'tokens.csv')
writeFileSync(tokens, 'admintoken,admin,admin,"system:masters"\n', { mode: 0o600 })

const freePort = async () => {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address()
  listener.close()
  await once(listener, 'close')
  return port
}

const startEtcd = async () => {
  const [url, peers] = [await freePort(), await freePort()].map((p) => `http://127.0.0.1:${p}`)
  const args = ['--data-dir', path.join(folder, 'etcd'), '--log-level', 'error']
  args.push('--listen-client-urls', url, '--advertise-client-urls', url)
  args.push('--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers)
  args.push('--initial-cluster', `default=${peers}`, '--unsafe-no-fsync')
  return { url, process: spawn('etcd', args, { stdio: 'ignore' }) }
}

const etcd = onEtcd ? await startEtcd() : undefined
process.on('exit', () => etcd?.process.kill('SIGKILL'))
const server = spawn(
  process.execPath,
  [
    path.join(root, 'dist/bundle/main.js'),
    'serve',
    '--secure-port=0',
    `--storage=${etcd === undefined ? 'memory:' : `etcd:${etcd.url}`}`,
    `--data-dir=${folder}/data`,
    `--kubeconfig-out=${folder}/kubeconfig`,
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    '--disable-admission-plugins=ServiceAccount',
  ],
  { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder },
)
let heard = ''
const address = await new Promise((resolve, reject) => {
  const hear = (chunk) => {
    heard += chunk
    const url = /https:\/\/127\.0\.0\.1:\d+/.exec(heard)
    if (url && /ready/i.test(heard)) resolve(url[0])
  }
  server.stdout.on('data', hear)
  server.stderr.on('data', hear)
  server.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${heard}`)))
  setTimeout(() => reject(new Error(`the server was not ready in 20 s:\n${heard}`)), 20_000).unref()
})

const json = path.join(folder, 'results.json')
/** Passed and total by area, and what the player said. */
const play = (jobs, ...what) => {
  rmSync(json, { force: true })
  const common = ['--server', address, '--token', 'admintoken', '--diffs', '3', '--json', json]
  const played = spawnSync(process.execPath, [oracle, ...what, ...common, '--jobs', String(jobs)], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: 10 * 60_000,
  })
  if (!existsSync(json))
    throw new Error(`the player wrote no results:\n${played.stdout}${played.stderr}`)
  const counts = {}
  for (const result of JSON.parse(readFileSync(json, 'utf8'))) {
    const area = path.basename(path.dirname(result.file))
    counts[area] ??= { passed: 0, total: 0 }
    counts[area].total++
    if (result.diffs.length === 0) counts[area].passed++
  }
  return { counts, said: played.stdout }
}

const areaFolder = (area) => path.join(path.dirname(oracle), 'scenarios', area)
const floor = existsSync(floorFile) ? JSON.parse(readFileSync(floorFile, 'utf8')) : {}
const first = play(6, ...chosen.map(areaFolder))
const areas = first.counts
let said = first.said
for (const [area, { passed }] of Object.entries(areas)) {
  if (passed >= (floor[area] ?? 0)) continue
  // Some scenarios wait for what settles later: on a busy machine an area gets one more try, with less beside it.
  const again = play(2, areaFolder(area))
  said = again.said
  areas[area].passed = Math.max(passed, again.counts[area]?.passed ?? 0)
}
server.removeAllListeners('exit')
server.kill('SIGTERM')
await new Promise((resolve) => server.on('exit', resolve))
if (etcd?.process.kill('SIGKILL')) await once(etcd.process, 'exit')
rmSync(folder, { recursive: true, force: true })

let lost = 0
for (const [area, { passed, total }] of Object.entries(areas).sort()) {
  const least = floor[area] ?? 0
  if (passed < least) lost++
  console.log(
    `conformance ${onEtcd ? 'over etcd ' : ''}${area.padEnd(12)} ${passed}/${total}, floor ${least}${passed < least ? '  LOST' : ''}`,
  )
}
if (raise) {
  const next = Object.fromEntries(
    Object.entries(areas)
      .sort()
      .map(([area, { passed }]) => [area, Math.max(passed, floor[area] ?? 0)]),
  )
  writeFileSync(floorFile, `${JSON.stringify(next, null, 2)}\n`)
}
if (lost > 0) {
  console.log(said.slice(-20_000))
  process.exit(1)
}
