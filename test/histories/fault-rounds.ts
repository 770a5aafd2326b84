/** Real servers in processes of their own, faults that come by chance, and the history of what their clients saw. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../free-port.js'
import { seededRandom } from '../seeded-random.js'
import { type Endpoint, Load } from './load.js'
import { problemsOf } from './verdict.js'

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))

/** A process that may be ended at any moment; it is started again on the same folder. */
class Replica implements Endpoint {
  url = ''
  readonly #directory: string
  readonly #flags: readonly string[]
  #child: ChildProcess | undefined

  constructor(directory: string, flags: readonly string[]) {
    mkdirSync(directory, { recursive: true })
    this.#directory = directory
    this.#flags = flags
  }

  get pid(): number {
    return this.#child!.pid!
  }

  async start(): Promise<void> {
    const tokens = join(this.#directory, 'tokens.csv')
    writeFileSync(tokens, 't,t,t,"system:masters"\n')
    // The same port again, as a server that is started by its supervisor.
    const port = this.url === '' ? String(await freePort()) : new URL(this.url).port
    const flags = ['--data-dir', this.#directory, '--secure-port', port, ...this.#flags]
    const args = [main, 'serve', ...flags, '--token-auth-file', tokens]
    const child = spawn(process.execPath, args, {
      // By the channel it learns when the test was killed, and ends too.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child = child
    let text = ''
    this.url = await new Promise<string>((resolve, reject) => {
      child.stderr!.on('data', (chunk) => {
        text += chunk
        const found = /ready (https:\/\/[\d.:]+)/.exec(text)
        if (found !== null) resolve(found[1]!)
      })
      child.once('exit', (code) => reject(new Error(`the server did not start (${code}): ${text}`)))
    })
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }
}

/** Something to share a store through, with faults of its own. */
export interface SharedStore {
  /** Flags of the n-th server. */
  flagsOf(replica: number): readonly string[]
  readonly faults: Readonly<Record<string, () => Promise<void>>>
}

interface RoundOptions {
  readonly seed: number
  /** Default: LevelDB in the folder of one server. */
  readonly store?: SharedStore
  readonly replicas?: number
  /** Names of faults to choose from; default all. */
  readonly faults?: readonly string[]
}

/** A name that a round does not know. */
export class UnknownFault extends Error {}

interface RoundResult {
  readonly fault: string
  readonly acknowledged: number
  readonly problems: readonly string[]
}

/** Acknowledged writes before and after the fault: a round with fewer shows nothing. */
const writesMin = 15

export const canTrace =
  process.platform === 'linux' &&
  spawnSync('strace', ['-qq', '-e', 'inject=fdatasync:delay_enter=1', 'true']).status === 0

const faultsOf = (
  replicas: readonly Replica[],
  load: Load,
  random: () => number,
): Record<string, () => Promise<void>> => {
  const any = () => replicas[Math.floor(random() * replicas.length)]!
  const again = async (signal: NodeJS.Signals) => {
    const replica = any()
    await replica.end(signal)
    await replica.start()
  }
  return {
    kill: () => again('SIGKILL'),
    restart: () => again('SIGTERM'),
    // As an upgrade goes: one after the other, each when the one before is ready.
    ...(replicas.length > 1 && {
      roll: async () => {
        for (const replica of replicas) {
          await replica.end('SIGTERM')
          await replica.start()
        }
      },
    }),
    pause: async () => {
      const replica = any()
      replica.signal('SIGSTOP')
      await pause(100 + random() * 700)
      replica.signal('SIGCONT')
    },
    drop: async () => {
      for (let i = 0; i < 5; i++) {
        load.dropConnections()
        await pause(random() * 60)
      }
    },
    ...(canTrace && {
      'slow-sync': async () => {
        const delay = `inject=fdatasync:delay_enter=${Math.round(20_000 + random() * 80_000)}`
        const attach = ['-f', '-qq', '-p', String(any().pid), '-e', 'trace=fdatasync', '-e', delay]
        const tracer = spawn('strace', [...attach, '-o', '/dev/null'], { stdio: 'ignore' })
        const gone = once(tracer, 'exit')
        await pause(800)
        tracer.kill('SIGTERM')
        await gone
      },
    }),
  }
}

const enough = async (load: Load, count: number): Promise<void> => {
  const wanted = load.acknowledged + count
  for (let i = 0; load.acknowledged < wanted; i++) {
    if (i > 1_500) throw new Error(`only ${load.acknowledged} of ${wanted} writes went through`)
    await pause(20)
  }
}

/** One server, or several on one store, under load with one fault. */
export const playRound = async (options: RoundOptions): Promise<RoundResult> => {
  const { seed, store, replicas: count = 1 } = options
  const random = seededRandom(seed)
  const directory = mkdtempSync(join(tmpdir(), 'kubelevel-round-'))
  const replicas = Array.from(
    { length: count },
    (_, i) => new Replica(join(directory, String(i)), store?.flagsOf(i) ?? []),
  )
  const load = new Load({ endpoints: replicas, token: 't', namespace: 'default', random })
  try {
    for (const replica of replicas) await replica.start()
    await load.start()
    const known = { ...faultsOf(replicas, load, random), ...store?.faults }
    const strangers = options.faults?.filter((name) => !Object.hasOwn(known, name)) ?? []
    if (strangers.length > 0)
      throw new UnknownFault(`no fault ${strangers}; there are ${Object.keys(known).join(', ')}`)
    const names = Object.keys(known).filter((name) => options.faults?.includes(name) ?? true)
    const fault = names[Math.floor(random() * names.length)]!
    await enough(load, writesMin)
    await pause(random() * 300)
    await known[fault]!()
    await enough(load, writesMin)
    await load.finish()
    const problems = problemsOf(load)
    if (problems.length > 0) {
      const file = join(tmpdir(), `kubelevel-history-${seed}.json`)
      const { calls, streams, snapshots } = load
      writeFileSync(file, JSON.stringify({ seed, fault, problems, calls, streams, snapshots }))
      problems.push(`the history is in ${file}`)
    }
    return { fault, acknowledged: load.acknowledged, problems }
  } finally {
    load.abandon()
    for (const replica of replicas) await replica.end('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
}
