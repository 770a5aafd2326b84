/** Starts `kubelevel up` as a user does, in a folder of its own, and talks to it with the real kubectl. It ends with the test. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { eventually } from '../eventually.js'

const run = promisify(execFile)
const main = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../bundle/main.js')

/** A reason to skip a test that needs kubectl, or false. */
export const kubectlMissing: string | false =
  spawnSync('kubectl', ['version', '--client']).status === 0 ? false : 'there is no kubectl here'

interface ProcessTree {
  readonly folder: string
  readonly kubeconfig: string
  readonly server: ChildProcess
  /** What the process tree has printed so far. */
  output(): string
  /** stdout of a kubectl call; rejects with its stderr. */
  kubectl(...args: string[]): Promise<string>
  /** The same, split in words for shorter tests. */
  k(line: string): Promise<string>
  /** Starts a kubectl that watches; yields what it has printed so far. Ends with `stop`. */
  follow(...args: string[]): () => string
  /** Starts the same folder again after `stop`. */
  start(): Promise<void>
  /** Ctrl-C: yields the exit code once every process is gone. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export const startProcessTree = async (
  t: Pick<Test, 'teardown'>,
  command = 'up',
  flags: readonly string[] = [],
): Promise<ProcessTree> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-test-'))
  const kubeconfig = path.join(folder, 'kubeconfig')
  let server: ChildProcess
  let said = ''
  const start = async () => {
    said = ''
    server = spawn(
      process.execPath,
      [
        main,
        command,
        '--secure-port=0',
        `--data-dir=${path.join(folder, 'data')}`,
        `--kubeconfig-out=${kubeconfig}`,
        ...flags,
      ],
      // By the channel it learns when the test was killed, and ends too.
      { cwd: folder, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
    )
    server.stdout!.on('data', (chunk) => (said += chunk))
    server.stderr!.on('data', (chunk) => (said += chunk))
    let ended = false
    server.once('exit', () => (ended = true))
    await eventually('the ready line', () => {
      if (ended) throw new Error(`kubelevel ${command} ended:\n${said}`)
      return /ready/i.test(said)
    })
  }
  // Made at each call: a test may choose its editor in between.
  const env = () => ({ ...process.env, KUBECONFIG: kubeconfig, HOME: folder })
  const watching = new AbortController()
  const follow = (...args: string[]) => {
    const child = spawn('kubectl', args, { env: env(), stdio: ['ignore', 'pipe', 'ignore'] })
    watching.signal.addEventListener('abort', () => child.kill())
    let printed = ''
    child.stdout.on('data', (chunk) => (printed += chunk))
    return () => printed
  }
  const kubectl = async (...args: string[]) => {
    const { stdout } = await run('kubectl', args, {
      env: env(),
      maxBuffer: 1 << 26,
      timeout: 180_000,
    })
    return stdout
  }
  const stop = async (signal: NodeJS.Signals = 'SIGINT') => {
    watching.abort()
    if (server.exitCode !== null || server.signalCode !== null) return server.exitCode
    const gone = new Promise<number | null>((resolve) => server.once('exit', resolve))
    server.kill(signal)
    return gone
  }
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  // Until a controller has made it no Pod is let in, as in any cluster that has just come up.
  if (command === 'up')
    await eventually('the account of Pods', () =>
      kubectl('get', 'serviceaccount', 'default').catch(() => false),
    )
  return {
    folder,
    kubeconfig,
    get server() {
      return server
    },
    output: () => said,
    kubectl,
    follow,
    k: (line) => kubectl(...line.split(/\s+/).filter(Boolean)),
    start,
    stop,
  }
}
