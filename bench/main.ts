/**
 * `npm run bench`: our server and a bare node:https server that answers the same bytes, or any two servers, measured by
 * short turns in one run, so that both meet the same noise; what was not warm yet does not count. Prints a table with
 * ratios; the same seconds are given to each side of each line.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchOptions, help, readOptions } from './options.js'
import { pictureOf } from './picture.js'
import { line, mebibytes, printGrowth, printHeads, printRow, type Row, rowOf } from './report.js'
import { makeDataDir, type Rival, removeDataDir, running, startFloor, startOurs } from './rivals.js'
import { type Measured, nothingMeasured, Runner } from './runner.js'
import { namespace, podsPath, probeOf, type Workload, workloads } from './workloads.js'

type Round = (runner: Runner, ms: number, into: Measured) => Promise<void>

class Comparison {
  readonly #options: BenchOptions
  readonly #objects: number
  readonly #runners: readonly [Runner, Runner]
  readonly rows: Row[] = []
  /** JSON bytes that the first side held in the end. */
  heldBytes = 0

  constructor(options: BenchOptions, objects: number, rivals: readonly [Rival, Rival]) {
    this.#options = options
    this.#objects = objects
    const [first, second] = rivals
    this.#runners = [new Runner(first, options), new Runner(second, options)]
  }

  get names(): readonly [string, string] {
    return [this.#runners[0].rival.name, this.#runners[1].rival.name]
  }

  async run(): Promise<void> {
    await this.#measureIdleWatches()
    for (const runner of this.#runners) if (!isFloor(runner)) await runner.seed(this.#objects)
    printHeads(this.names)
    const all = workloads(this.#objects)
    for (const workload of all) if (workload.callsMax === undefined) await this.#measure(workload)
    for (const workload of all)
      if (workload.sendsObject === true)
        for (const floor of ['JSON', 'LevelDB'] as const) await this.#measureWrites(workload, floor)
    const watched = all.filter((workload) => workload.watched !== undefined)
    for (const workload of watched) await this.#measureDeliveries(workload)
    await this.#measureMemory()
    // Deletes come last: they take away what the others work on.
    for (const workload of all) if (workload.callsMax !== undefined) await this.#measure(workload)
    this.heldBytes = await jsonBytes(this.#runners[0])
  }

  async end(): Promise<void> {
    for (const runner of this.#runners) {
      if (!runner.rival.isOurs) await runner.clean()
      runner.close()
    }
  }

  async #measure(workload: Workload): Promise<void> {
    if (!this.#options.only.test(workload.name)) return
    await this.#teach(workload)
    await this.#compare(workload.name, (runner, ms, into) => runner.round(workload, ms, into))
  }

  /** Against a floor that does not discard what it is sent, but parses it and writes it again, to disk as well. */
  async #measureWrites(workload: Workload, floor: 'JSON' | 'LevelDB'): Promise<void> {
    const name = `${workload.name} (${floor} floor)`
    if (!this.#options.only.test(name) || !isFloor(this.#runners[1])) return
    await this.#teach(workload, floor)
    await this.#compare(name, (runner, ms, into) => runner.round(workload, ms, into))
  }

  async #measureDeliveries(workload: Workload): Promise<void> {
    const { only, watchers } = this.#options
    const { name, history } = workload.watched!
    if (only.test(name)) {
      await this.#teach(workload, 'frame')
      await this.#compare(name, (runner, ms, into) => runner.fanOut(workload, ms, watchers, into))
    }
    if (history !== undefined && only.test(history.name)) {
      await this.#teach(workload, 'history')
      const round: Round = (runner, ms, into) => runner.catchUp(workload, ms, watchers, into)
      await this.#compare(history.name, round)
    }
  }

  async #compare(name: string, round: Round): Promise<void> {
    const { rounds, roundMs, warmUpMs } = this.#options
    const results = [nothingMeasured(), nothingMeasured()] as const
    for (const runner of this.#runners) {
      const end = performance.now() + warmUpMs
      for (let left = warmUpMs; left > 0; left = end - performance.now())
        await round(runner, left, nothingMeasured())
    }
    for (let i = 0; i < rounds; i++)
      for (const [side, runner] of this.#runners.entries())
        await round(runner, roundMs, results[side]!)
    const row = rowOf(name, results)
    this.rows.push(row)
    printRow(row)
  }

  async #measureMemory(): Promise<void> {
    if (!this.#options.only.test('memory')) return
    const [first] = this.#runners
    const resident = this.#runners.map(({ rival }) => mebibytes(rival.residentBytes()))
    line('memory', `${resident.join('  ')}  for ${mebibytes(await jsonBytes(first))} of JSON`)
  }

  /** Before all else: a process that was busy has memory to spare, and would seem to take none. */
  async #measureIdleWatches(): Promise<void> {
    const { only, idleWatches, idleOver } = this.#options
    if (!only.test('idle watches')) return
    const grown = []
    for (const runner of this.#runners) grown.push(await runner.idleWatches(this.#options))
    line('idle watches', `${grown.map(mebibytes).join('  ')}  for ${idleWatches} over ${idleOver}`)
  }

  /** Asks our server once, and has the floor answer the same. */
  async #teach(workload: Workload, more?: 'frame' | 'history' | 'JSON' | 'LevelDB'): Promise<void> {
    const [ours, floor] = this.#runners
    const { set } = floor.rival
    if (set === undefined) return
    const calls = workload.prepare?.() ?? []
    await ours.sendAll(calls.length, (n) => calls[n]!)
    const call = probeOf(workload, this.#objects)
    const { status, body } = await ours.send(call)
    const frames = (): string => workload.watched!.frames(String(body)).join('')
    const parts = {
      frame: () => ({ frame: frames() }),
      history: () => ({ history: frames().repeat(workload.watched!.history!.calls) }),
      JSON: () => ({ readsJson: true }),
      LevelDB: () => ({ stores: true }),
    }
    const answer = { method: call.method, status, body: String(body) }
    await set(more === undefined ? answer : { ...answer, ...parts[more]() })
  }
}

const isFloor = ({ rival }: Runner): boolean => rival.set !== undefined

/** All that the server holds of ours. */
const jsonBytes = async (runner: Runner): Promise<number> => {
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`
  let bytes = 0
  for (const path of [podsPath, configMaps])
    bytes += (await runner.send({ method: 'GET', path })).body.length
  return bytes
}

const floorOf = (dataDir: string, { idleOver }: BenchOptions): Promise<Rival> => {
  const read = (name: string) => readFileSync(join(dataDir, 'pki', name), 'utf8')
  const directory = join(dataDir, 'floor')
  return startFloor({
    key: read('apiserver.key'),
    cert: read('apiserver.crt'),
    directory,
    http2: idleOver === 'http/2',
  })
}

/** The figure that users see first: how soon a server is there again with all that it holds. */
const restart = async (options: BenchOptions, dataDir: string, heldBytes: number) => {
  if (!options.only.test('ready') || options.storage !== undefined) return
  const { rival, readyMs } = await startOurs({ dataDir })
  const resident = mebibytes(rival.residentBytes())
  line(
    'ready',
    `${readyMs.toFixed(0)} ms with ${mebibytes(heldBytes)} of JSON, ${resident} resident`,
  )
  await rival.stop()
}

const compare = async (
  options: BenchOptions,
  objects: number,
  [first, second]: readonly [Rival, Rival],
): Promise<Comparison> => {
  const comparison = new Comparison(options, objects, [first, second])
  try {
    await comparison.run()
  } finally {
    await comparison.end().finally(() => Promise.all([first.stop(), second.stop()]))
  }
  return comparison
}

const runOnce = async (options: BenchOptions, objects: number): Promise<Comparison> => {
  const { server, against, profile: profileDir, storage } = options
  const rival = against === undefined ? undefined : running('against', against)
  if (server !== undefined) return compare(options, objects, [running('server', server), rival!])
  // Ours is started on it twice, and may end in between.
  const dataDir = makeDataDir()
  try {
    const ours = await startOurs({ profileDir, storage, dataDir })
    line('ready', `${ours.readyMs.toFixed(0)} ms with an empty folder`)
    const second = rival ?? (await floorOf(dataDir, options))
    const comparison = await compare(options, objects, [ours.rival, second])
    await restart(options, dataDir, comparison.heldBytes)
    return comparison
  } finally {
    removeDataDir(dataDir)
  }
}

const main = async (): Promise<void> => {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) {
    process.stdout.write(help)
    return
  }
  const done: Comparison[] = []
  for (const objects of options.objects) {
    if (options.objects.length > 1) line('', `${objects} objects`)
    done.push(await runOnce(options, objects))
  }
  const [first, last] = [done[0]!, done[done.length - 1]!]
  if (done.length > 1) {
    line('', `with ${options.objects.at(-1)} objects, in relation to ${options.objects[0]}`)
    printGrowth(first.rows, last.rows)
  }
  if (options.svg !== undefined) writeFileSync(options.svg, pictureOf(last.rows, last.names))
}

try {
  await main()
} catch (error) {
  console.error(`the run failed: ${(error as Error).message}`)
  process.exitCode = 1
}
