/** The processes that are compared: ours, the floor, or servers that run already. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FloorAnswer, Start } from './floor.js'
import { cpuMsOf, residentBytesOf } from './process-figures.js'

export interface Rival {
  readonly name: string
  readonly url: URL
  readonly token: string
  /** Started here, and gone with what it holds when the run ends. */
  readonly isOurs: boolean
  /** The floor only: what it answers from now on. */
  set?(answer: FloorAnswer): Promise<void>
  /** Resident bytes of the process; 0 when it is not ours. */
  residentBytes(): number
  /** Processor time used so far, in ms; 0 when it is not ours. */
  cpuMs(): number
  stop(): Promise<void>
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })

/** A server that runs already; what its process uses is known when its id is. */
export const running = (
  name: string,
  { url, token, pid }: { url: string; token: string; pid?: number | undefined },
): Rival => ({
  name,
  url: new URL(url),
  token,
  isOurs: false,
  residentBytes: () => (pid === undefined ? 0 : residentBytesOf(pid)),
  cpuMs: () => (pid === undefined ? 0 : cpuMsOf(pid)),
  stop: async () => {},
})

/** The compiler leaves alone what stays the same: what was compiled last may be any file. */
const compiledAt = (): number => {
  const folders = ['src', 'routes', 'storage', 'openapi'].map((name) => here(`../${name}`))
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  return Math.max(...files.map((file) => statSync(file).mtimeMs))
}

/** As users start it, unless the bundle is older than what was compiled last. */
const mainFile = (profiled: boolean): string => {
  const [compiled, bundled] = [here('../src/main.js'), here('../bundle/main.js')]
  const isFresh = existsSync(bundled) && statSync(bundled).mtimeMs > compiledAt()
  return isFresh && !profiled ? bundled : compiled
}

interface Ours {
  readonly rival: Rival
  /** From the start of the process to the line that says where it listens. */
  readonly readyMs: number
  readonly dataDir: string
}

export const makeDataDir = (): string => mkdtempSync(join(tmpdir(), 'kubelevel-bench-'))

export const removeDataDir = (dataDir: string): void =>
  rmSync(dataDir, { recursive: true, force: true })

/**
 * Our server on a fresh data dir or a given one, and on another storage than LevelDB when one is named; with
 * `profileDir` it leaves a CPU profile there when it stops. A fresh data dir is removed with it.
 */
export const startOurs = async (
  options: { profileDir?: string; storage?: string; dataDir?: string } = {},
): Promise<Ours> => {
  const dataDir = options.dataDir ?? makeDataDir()
  const tokens = join(dataDir, 'tokens.csv')
  writeFileSync(tokens, 'bench,bench,bench,"system:masters"\n')
  const flags = ['serve', '--data-dir', dataDir, '--secure-port', '0', '--token-auth-file', tokens]
  // As the reference figures were measured: no token volume in every Pod.
  flags.push('--disable-admission-plugins=ServiceAccount')
  const { profileDir, storage } = options
  if (storage !== undefined) flags.push('--storage', storage)
  const profile = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]
  const started = performance.now()
  const child = spawn(process.execPath, [...profile, mainFile(profile.length > 0), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    const read = (chunk: Buffer) => {
      text += chunk
      const found = /https:\/\/[\w.]+:\d+/.exec(text)
      if (found !== null) resolve(found[0])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', () => reject(new Error(`the server ended: ${text}`)))
  })
  const rival: Rival = {
    name: 'kubelevel',
    url: new URL(url),
    token: 'bench',
    isOurs: true,
    residentBytes: () => residentBytesOf(child.pid!),
    cpuMs: () => cpuMsOf(child.pid!),
    stop: async () => {
      await ended(child)
      if (options.dataDir === undefined) removeDataDir(dataDir)
    },
  }
  return { rival, readyMs: performance.now() - started, dataDir }
}

/** The floor with the certificate of our server, so that TLS costs the same, and on the same disk. */
export const startFloor = async (start: Start): Promise<Rival> => {
  const child = fork(here('./floor.js'))
  const next = <T>(): Promise<T> => new Promise((resolve) => child.once('message', resolve))
  child.send(start)
  const { port } = await next<{ port: number }>()
  return {
    name: 'node:https',
    url: new URL(`https://127.0.0.1:${port}`),
    token: '',
    isOurs: true,
    set: async (answer) => {
      child.send(answer)
      await next()
    },
    residentBytes: () => residentBytesOf(child.pid!),
    cpuMs: () => cpuMsOf(child.pid!),
    stop: () => ended(child),
  }
}
