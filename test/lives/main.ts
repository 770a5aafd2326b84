/** The same lives for a real kubelet and for ours, for a release. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readFlags } from '../../bench/read-flags.js'
import { compareAll } from '../worlds/compare-all.js'
import { differenceOf } from './difference.js'
import { disturbs, type Life, titleOf } from './life.js'
import { playLife } from './play.js'
import { lifeOf } from './random.js'
import { startReference } from './reference.js'
import { written } from './written.js'

const usage = `npm run lives -- --apiserver FILE --etcd FILE --kubelet FILE [flags]

Pods live and die on two nodes of one real API server: on that of a real kubelet, and on that of the kubelet of this
checkout, with a containerd each (root, containerd, runc, CNI plugins, a static busybox). What a client sees of them is
compared: each version of the Pod, its Events, and what its containers say. A life that ends otherwise is played again
alone, as moments differ too. Ends with 1 when one differs always.

  --apiserver FILE       kube-apiserver
  --etcd FILE            etcd
  --kubelet FILE         the kubelet that is right
  --focus REGEXP         only lives whose name matches (all that are written)
  --count N              so many random lives instead of those that are written (0)
  --seed N               the first random life (1)
  --at-once N            how many side by side, but for those that stop a kubelet or the server (6)
  --again N              how often one that differs is played again (1)
  --list                 tells the lives, and plays none
  --keep                 leaves the folder with all logs and stories
`

const flags = readFlags(usage, {
  apiserver: { type: 'string' },
  etcd: { type: 'string' },
  kubelet: { type: 'string' },
  focus: { type: 'string', default: '' },
  count: { type: 'string', default: '0' },
  seed: { type: 'string', default: '1' },
  'at-once': { type: 'string', default: '6' },
  again: { type: 'string', default: '1' },
  list: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
})

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const refuse = (problem: string): never => {
  process.stderr.write(`${problem}\n\n${usage}`)
  return process.exit(2)
}

const count = Number(flags.count)
const random = Array.from({ length: count }, (_, i) => lifeOf(Number(flags.seed) + i))
const focus = new RegExp(flags.focus)
const lives = (count > 0 ? random : written).filter(({ name }) => focus.test(name))
if (flags.list) {
  for (const life of lives) print(titleOf(life))
  process.exit(0)
}
const programOf = (name: 'apiserver' | 'etcd' | 'kubelet'): string =>
  flags[name] ?? refuse(`--${name} is needed`)
const programs = {
  apiserver: programOf('apiserver'),
  etcd: programOf('etcd'),
  kubelet: programOf('kubelet'),
}

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-lives-'))
const endings: (() => unknown)[] = []
const end = async (code: number): Promise<never> => {
  for (const ending of endings) await ending()
  if (flags.keep) print(folder)
  else rmSync(folder, { recursive: true, force: true })
  return process.exit(code)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(1))

const place = await startReference(programs, folder, endings)
let differing = 0
const compare = async (life: Life): Promise<string[]> => {
  const { ours, against } = await playLife(place, life)
  const file = path.join(folder, `${life.name}.json`)
  writeFileSync(file, JSON.stringify({ ours, against }, undefined, 1))
  return differenceOf(ours, against)
}
const tell = (life: Life, difference: readonly string[]): void => {
  const isSteady = difference.length > 0
  if (isSteady) differing++
  const lines = isSteady
    ? ['', titleOf(life), ...difference]
    : [`${life.name}: differed by the moment`]
  for (const line of lines) print(line)
}
const plan = { again: Number(flags.again) }
const [alone, others] = [lives.filter(disturbs), lives.filter((life) => !disturbs(life))]
await compareAll(others, { ...plan, atOnce: Number(flags['at-once']) }, compare, tell)
await compareAll(alone, { ...plan, atOnce: 1 }, compare, tell)
print(`${lives.length} lives played, ${differing} differ`)
await end(differing === 0 ? 0 : 1)
