/** `kubelevel up` with many Pods. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient } from '#client/client.js'
import { Informer } from '#client/informer.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import { isPodReady, type Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { cpuMsOf, residentBytesOf } from './process-figures.js'
import { readFlags } from './read-flags.js'

const usage = `node dist/bench/pods.js [flags]

Runs \`kubelevel up\` with many Pods, host processes that sleep: how soon all of a ReplicaSet run, what the processes
weigh with half of them, how soon a cascade has ended all, how well a grace is kept, and how Ctrl-C ends it with half
of them running.

  --pods N          Pods of the ReplicaSet (1000)
`

const count = Number(readFlags(usage, { pods: { type: 'string', default: '1000' } }).pods)
const half = Math.ceil(count / 2)
const namespace = 'default'
const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-pods-'))
const kubeconfig = path.join(folder, 'kubeconfig')
const mainFile = fileURLToPath(new URL('../src/main.js', import.meta.url))
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const seconds = (from: number): string => `${((performance.now() - from) / 1000).toFixed(1)} s`

const up: ChildProcess = spawn(
  process.execPath,
  [
    mainFile,
    'up',
    '--secure-port=0',
    `--data-dir=${path.join(folder, 'data')}`,
    `--kubeconfig-out=${kubeconfig}`,
  ],
  { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, POD_BENCH: folder } },
)
let output = ''
up.stdout!.on('data', (chunk) => (output += chunk))
up.stderr!.on('data', (chunk) => (output += chunk))
const ended = new Promise<number | null>((resolve) => up.once('exit', resolve))
while (!output.includes('ready https') && up.exitCode === null) await sleep(20)

const client = createClient(await loadKubeconfig(kubeconfig), 'bench')
const stop = new AbortController()
const informer = new Informer<Pod>({ client, ref: resources.pods, namespace, log: silentLog })
const watching = informer.run(stop.signal)
await informer.synced()

/** The processes of this cluster by their name: the server, and what it has started. */
const processes = (): Map<string, number> => {
  const found = new Map([['server', up.pid!]])
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  for (const line of lines) {
    const [pid, ppid, ...words] = line.trim().split(/\s+/)
    if (Number(ppid) !== up.pid) continue
    const name = words[words.findIndex((word) => word.endsWith('main.js')) + 1]
    if (name) found.set(name, Number(pid))
  }
  return found
}
const resident = (): string =>
  [...processes()]
    .map(([name, pid]) => `${name} ${Math.round(residentBytesOf(pid) / 1e6)}`)
    .join(', ')
const cpuSeconds = (): Map<string, number> =>
  new Map([...processes()].map(([name, pid]) => [name, cpuMsOf(pid) / 1000]))
const cpuSince = (before: Map<string, number>): string =>
  [...cpuSeconds()]
    .map(([name, used]) => `${name} ${(used - (before.get(name) ?? 0)).toFixed(1)}`)
    .join(', ')

const reached = async (what: string, holds: () => boolean, timeoutMs = 300_000) => {
  const end = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain: ${what}\n${output.slice(-4_000)}`)
    await sleep(20)
  }
}
const pods = () => informer.store.list()
const ready = () => pods().filter(isPodReady).length

const container = { name: 'main', image: 'none.example/main' }
const makeSet = (name: string, replicas: number) =>
  client.create(resources.replicaSets, {
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ ...container, command: ['sleep', '100000'] }] },
      },
    },
  })

const runAll = async (name: string, replicas: number): Promise<void> => {
  const from = performance.now()
  const before = cpuSeconds()
  await makeSet(name, replicas)
  await reached(`${replicas} Pods`, () => ready() === replicas)
  print(`${replicas} Pods scheduled and running after ${seconds(from)}`)
  print(`  processor seconds: ${cpuSince(before)}`)
}
const cascade = async (name: string, replicas: number): Promise<void> => {
  const from = performance.now()
  const before = cpuSeconds()
  await client.delete(
    resources.replicaSets,
    { namespace, name },
    { propagationPolicy: 'Background' },
  )
  await reached('no Pods', () => pods().length === 0)
  print(`${replicas} Pods gone by their ReplicaSet's cascade after ${seconds(from)}`)
  print(`  processor seconds: ${cpuSince(before)}`)
}

const alive = (pid: number): boolean => {
  try {
    // A zombie has no environment.
    return readFileSync(`/proc/${pid}/environ`).length > 0
  } catch {
    return false
  }
}

/** `$$$$` is `$$` to the shell (Kubernetes expands it). From the delete as the kubelet's Pod sees it, which is the SIGTERM, to the end of its process, against its grace. */
const graces = async (): Promise<void> => {
  const file = (name: string) => path.join(folder, `${name}.pid`)
  const names = Array.from({ length: 12 }, (_, i) => ({ name: `grace-${i}`, grace: 2 + (i % 3) }))
  for (const { name, grace } of names)
    await client.create(resources.pods, {
      metadata: { name, namespace },
      spec: {
        terminationGracePeriodSeconds: grace,
        containers: [
          {
            ...container,
            command: [
              'sh',
              '-c',
              `trap 'date +%s%N >"${file(name)}.term"' TERM; echo $$$$ >"${file(name)}.new"; mv "${file(name)}.new" "${file(name)}"; while :; do sleep 0.02; done`,
            ],
          },
        ],
      },
    })
  await reached('the Pods', () => names.every(({ name }) => existsSync(file(name))))
  const offBy = await Promise.all(
    names.map(async ({ name, grace }) => {
      const pid = Number(readFileSync(file(name), 'utf8'))
      await client.delete(resources.pods, { namespace, name })
      while (alive(pid)) await sleep(2)
      const endedAt = performance.timeOrigin + performance.now()
      return endedAt - Number(readFileSync(`${file(name)}.term`, 'utf8')) / 1e6 - grace * 1000
    }),
  )
  const worst = Math.max(...offBy.map(Math.abs))
  const median = offBy.map(Math.abs).sort((a, b) => a - b)[offBy.length >> 1]!
  print(
    `graces of 2, 3 and 4 s kept within ${worst.toFixed(0)} ms, ${median.toFixed(0)} ms in the median`,
  )
  await reached('no Pods', () => pods().length === 0)
}

/** Processes of any Pod of this cluster, by what they have inherited from `up`. */
const left = (): number =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => {
      try {
        return readFileSync(`/proc/${entry}/cmdline`, 'latin1').includes(folder)
      } catch {
        return false
      }
    }).length

let code = 0
try {
  await runAll('half', half)
  await sleep(10_000)
  print(`with ${half} Pods, resident MB: ${resident()}`)
  await cascade('half', half)
  await runAll('all', count)
  await sleep(5_000)
  print(`with ${count} Pods, resident MB: ${resident()}`)
  await cascade('all', count)
  await graces()
  await runAll('last', half)
  const from = performance.now()
  up.kill('SIGINT')
  const exitCode = await ended
  print(
    `Ctrl-C with ${half} Pods: exit code ${exitCode} after ${seconds(from)}, ${left()} processes left`,
  )
} catch (error) {
  print((error as Error).message)
  code = 1
} finally {
  stop.abort()
  await watching
  client.close()
  if (up.exitCode === null) up.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
}
process.exit(code)
