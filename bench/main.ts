/**
 * `npm run bench`: our server and a bare node:https server that answers the same bytes, or any two servers, measured by
 * short turns in one run, so that both meet the same noise; what was not warm yet does not count. Prints a table with
 * ratios; the same seconds are given to each side of each line.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { RawConnection } from './raw-client.js'
import { type Rival, running, startFloor, startOurs } from './rivals.js'
import {
  type Call,
  namespace,
  podsPath,
  seedCalls,
  type Workload,
  watchPath,
  workloads,
} from './workloads.js'

const { values: flags } = parseArgs({
  options: {
    server: { type: 'string' },
    token: { type: 'string', default: 'admintoken' },
    against: { type: 'string' },
    'against-token': { type: 'string' },
    objects: { type: 'string', default: '2000' },
    connections: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '0.5' },
    rounds: { type: 'string', default: '6' },
    watchers: { type: 'string', default: '100' },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
    storage: { type: 'string' },
  },
})
const objects = Number(flags.objects)
const connections = Number(flags.connections)
const roundMs = Number(flags.seconds) * 1000

const open = (rival: Rival, count: number) =>
  Array.from({ length: count }, () => new RawConnection(rival.url, rival.token))

const send = ({ method, path, body, type }: Call, to: RawConnection) =>
  to.request(method, path, body, type)

interface Measured {
  calls: number
  ms: number
  failed: number
  /** Processor time of the server. */
  cpuMs: number
}

class Runner {
  readonly rival: Rival
  readonly connections: RawConnection[]
  #counters = new Map<string, number>()

  constructor(rival: Rival) {
    this.rival = rival
    this.connections = open(rival, connections)
  }

  async seed(): Promise<void> {
    const body = Buffer.from(JSON.stringify({ metadata: { name: namespace } }))
    await this.connections[0]!.request('POST', '/api/v1/namespaces', body)
    const account = Buffer.from(JSON.stringify({ metadata: { name: 'default' } }))
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
    await this.connections[0]!.request('POST', accounts, account)
    const calls = seedCalls(objects)
    await Promise.all(
      this.connections.map(async (connection) => {
        for (let call = calls.pop(); call !== undefined; call = calls.pop()) {
          const { status, body } = await send(call, connection)
          if (status >= 300 && status !== 409) throw new Error(`${status}: ${body}`)
        }
      }),
    )
  }

  async round(workload: Workload, into: Measured): Promise<void> {
    let n = this.#counters.get(workload.name) ?? 0
    const until = performance.now() + roundMs
    const started = performance.now()
    const last = n + (workload.callsMax ?? Number.POSITIVE_INFINITY)
    await Promise.all(
      this.connections.map(async (connection) => {
        while (performance.now() < until && n < last) {
          const { status } = await send(workload.call(n++), connection)
          into.calls++
          if (status >= 300) into.failed++
        }
      }),
    )
    into.ms += performance.now() - started
    this.#counters.set(workload.name, n)
  }

  /** Deliveries while each connection patches one Pod after another. */
  async fanOut(patch: Workload, into: Measured): Promise<void> {
    const list = await this.connections[0]!.request('GET', `${podsPath}?limit=1`)
    const revision = /"resourceVersion":"(\d+)"/.exec(String(list.body))?.[1] ?? '0'
    const watchers = open(this.rival, Number(flags.watchers))
    let delivered = 0
    for (const watcher of watchers)
      watcher.stream(watchPath + revision, (n) => void (delivered += n))
    await new Promise((resolve) => setTimeout(resolve, 700))
    const sent: Measured = { calls: 0, ms: 0, failed: 0, cpuMs: 0 }
    const started = performance.now()
    await this.round(patch, sent)
    const wanted = sent.calls * watchers.length
    // What was written is delivered to the end, however long that takes.
    for (let idle = 0, before = -1; delivered < wanted && idle < 20; before = delivered) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      idle = delivered === before ? idle + 1 : 0
    }
    into.ms += performance.now() - started
    into.calls += delivered
    into.failed += sent.failed + Math.max(0, wanted - delivered)
    for (const watcher of watchers) watcher.close()
  }

  close(): void {
    for (const connection of this.connections) connection.close()
  }
}

const main = async (): Promise<void> => {
  const ours =
    flags.server === undefined
      ? await startOurs({ profileDir: flags.profile, storage: flags.storage })
      : undefined
  const first = ours?.rival ?? running('server', flags.server!, flags.token)
  const floor =
    flags.against === undefined && ours !== undefined
      ? await startFloor(...certificateOf(ours.dataDir))
      : undefined
  const other =
    flags.against === undefined
      ? floor
      : running('against', flags.against, flags['against-token'] ?? flags.token)
  if (other === undefined) throw new Error('--server needs --against')
  const runners = [new Runner(first), new Runner(other)] as const
  try {
    if (ours !== undefined) line('ready', `${ours.readyMs.toFixed(0)} ms`)
    await runners[0].seed()
    if (floor === undefined) await runners[1].seed()
    await compare(runners, floor)
    line('resident', runners.map(({ rival }) => `${mebibytes(rival)} MiB`).join('  '))
  } finally {
    for (const runner of runners) runner.close()
    await first.stop()
    await other.stop()
  }
}

const compare = async (runners: readonly [Runner, Runner], floor: Rival | undefined) => {
  const names = runners.map(({ rival }) => rival.name).join('  ')
  line('requests a second', `${names}  ratio  processor µs a request, ratio`)
  const only = new RegExp(flags.only)
  const all = workloads(objects)
  // Deletes come last: they take away what the others work on.
  const measure = async (workload: Workload) => {
    if (!only.test(workload.name)) return
    if (floor !== undefined) await teach(floor, workload, runners[0])
    // Warming up would take away what is to be deleted.
    const warms = workload.callsMax === undefined
    await compareOne(workload.name, runners, warms, (runner, into) => runner.round(workload, into))
  }
  for (const workload of all) if (workload.callsMax === undefined) await measure(workload)
  if (only.test('watch deliveries')) await compareFanOut(runners, floor, all)
  for (const workload of all) if (workload.callsMax !== undefined) await measure(workload)
}

const compareFanOut = async (
  runners: readonly [Runner, Runner],
  floor: Rival | undefined,
  all: readonly Workload[],
) => {
  const patch = all.find(({ name }) => name === 'merge patch')!
  if (floor !== undefined) await teach(floor, patch, runners[0], true)
  await compareOne('watch deliveries', runners, true, (runner, into) => runner.fanOut(patch, into))
}

const compareOne = async (
  name: string,
  runners: readonly [Runner, Runner],
  warms: boolean,
  round: (runner: Runner, into: Measured) => Promise<void>,
) => {
  const nothing = (): Measured => ({ calls: 0, ms: 0, failed: 0, cpuMs: 0 })
  if (warms) for (const runner of runners) await round(runner, nothing())
  const results = runners.map(nothing)
  for (let i = 0; i < Number(flags.rounds); i++) {
    for (const [side, runner] of runners.entries()) {
      const before = runner.rival.cpuMs()
      await round(runner, results[side]!)
      results[side]!.cpuMs += runner.rival.cpuMs() - before
    }
  }
  const rates = results.map(({ calls, ms }) => (calls / ms) * 1000)
  const failed = results.some((r) => r.failed > 0)
    ? `  failed: ${results.map((r) => r.failed).join(', ')}`
    : ''
  // What a request costs the processor does not depend on how busy the machine and its disk are.
  const costs = results.map(({ calls, cpuMs }) => (cpuMs * 1000) / Math.max(1, calls))
  const cpu = `${costs.map((cost) => cost.toFixed(0).padStart(8)).join('  ')}  ${(costs[1]! / costs[0]!).toFixed(2)}`
  const ratio = (rates[0]! / rates[1]!).toFixed(2)
  line(
    name,
    `${rates.map((rate) => rate.toFixed(0).padStart(8)).join('  ')}  ${ratio}  ${cpu}${failed}`,
  )
}

/** Asks our server once, and has the floor answer the same. */
const teach = async (floor: Rival, workload: Workload, ours: Runner, frames = false) => {
  const call = workload.call(1_000_000)
  const connection = ours.connections[0]!
  const probe =
    call.path.includes('seed-') && call.method === 'DELETE' ? workload.call(objects - 1) : call
  const { status, body } = await send(probe, connection)
  const frame = frames ? `{"type":"MODIFIED","object":${String(body).trimEnd()}}\n` : undefined
  await floor.set!({ method: call.method, status, body: String(body), frame })
  if (frames) await floor.set!({ method: 'GET', status: 200, body: '{}' })
}

const certificateOf = (dataDir: string): [string, string] => {
  const folder = join(dataDir, 'pki')
  return [
    readFileSync(join(folder, 'apiserver.key'), 'utf8'),
    readFileSync(join(folder, 'apiserver.crt'), 'utf8'),
  ]
}

const mebibytes = (rival: Rival) => (rival.residentBytes() / 1024 / 1024).toFixed(0)

const line = (name: string, text: string) => {
  process.stdout.write(`${name.padEnd(26)}${text}\n`)
}

await main()
