/** Real servers in processes of their own, faults that come by chance, and the history of what their clients saw. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { mainFile } from '../main-file.js'
import { seededRandom } from '../seeded-random.js'
import { type Endpoint, Load } from './load.js'
import { problemsOf } from './verdict.js'

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
    const args = [mainFile, 'serve', ...flags, '--token-auth-file', tokens]
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

/** Waits until the readiness of all servers, or of those with these numbers, is told like this. */
type UntilReadiness = (text: RegExp, replicas?: readonly number[]) => Promise<void>

type Fault = (until: UntilReadiness) => Promise<void>

/** Something to share a store through, with faults of its own. */
export interface SharedStore {
  /** Flags of the n-th server. */
  flagsOf(replica: number): readonly string[]
  readonly faults: Readonly<Record<string, Fault>>
}

interface RoundOptions {
  readonly seed: number
  /** Default: LevelDB in the folder of one server. */
  readonly store?: SharedStore
  readonly replicas?: number
  /** Names of faults to choose from; default all. */
  readonly faults?: readonly string[]
  /** All of these one after the other, instead of one by chance. */
  readonly inTurn?: boolean
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
): Record<string, Fault> => {
  const any = () => replicas[Math.floor(random() * replicas.length)]!
  const again = (signal: NodeJS.Signals) => async (until: UntilReadiness) => {
    const replica = any()
    await replica.end(signal)
    const others = [...replicas.keys()].filter((i) => replicas[i] !== replica)
    await until(isReady, others)
    await replica.start()
  }
  return {
    kill: again('SIGKILL'),
    restart: again('SIGTERM'),
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

const isReady = /^ok$/

const readinessOf =
  (replicas: readonly Replica[], load: Load): UntilReadiness =>
  async (text, which = [...replicas.keys()]) => {
    const asked = { method: 'GET', path: '/readyz/etcd-readiness' } as const
    const tells = async (replica: Replica) =>
      text.test((await load.ask(replica, asked).catch(() => ({ text: '' }))).text)
    const told = which.map((i) => eventually(`${text} of ${i}`, () => tells(replicas[i]!)))
    await Promise.all(told)
  }

const enough = async (load: Load, count: number): Promise<void> => {
  const wanted = load.acknowledged + count
  await eventually(`${count} writes that go through`, () => load.acknowledged >= wanted)
}

/** Whether all servers list the same bytes. What they keep in the store for themselves moves its revision now and then. */
const listAlike = (replicas: readonly Replica[], load: Load): Promise<boolean> =>
  eventually('the same list of all servers', async () => {
    const asked = { method: 'GET', path: '/api/v1/namespaces/default/configmaps' } as const
    const answers = replicas.map((replica) => load.ask(replica, asked))
    const lists = await Promise.all(answers).catch(() => [])
    return new Set(lists.map(({ text }) => text)).size === 1
  }).catch(() => false)

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
    const faults = options.inTurn ? options.faults! : [names[Math.floor(random() * names.length)]!]
    const until = readinessOf(replicas, load)
    for (const fault of faults) {
      await enough(load, writesMin)
      await pause(random() * 300)
      await known[fault]!(until)
      await until(isReady)
    }
    await enough(load, writesMin)
    await load.finish()
    const problems = problemsOf(load)
    if (!(await listAlike(replicas, load))) problems.push('the lists of the servers stay different')
    const fault = faults.join(', ')
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
