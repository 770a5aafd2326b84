/** The durable side of the process runtime: one record a container, written once, and the shim's files beside it. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { limits } from '#limits'
import { removeTreeSync } from '#program/remove-tree.js'
import type { ContainerConfig, PodIdentity, Sandbox } from '../../runtime.js'
import { makeInput } from './container-input.js'
import { type ProcessIdentity, startTimeOf } from './process-table.js'
import { makeWorkFolder } from './work-folder.js'

export interface ContainerRecord {
  readonly id: string
  readonly sandboxId: string
  readonly pod: PodIdentity
  /** Without env, which may hold secrets: it goes to the process and nowhere else. Nothing isolates it either. */
  readonly config: Omit<ContainerConfig, 'env' | 'security'>
  readonly createdAt: number
  readonly bootId: string
}

interface ShimPids {
  readonly shim: ProcessIdentity
  readonly main: ProcessIdentity
  readonly startedAt: number
}

interface ShimExit {
  readonly exitCode: number
  readonly reason: string
  readonly message: string
  readonly finishedAt: number
}

const readOr = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

const parsedOr = <T>(text: string): T | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export class ContainerFiles {
  readonly state: string
  readonly logs: string
  readonly work: string
  readonly sandboxes: string

  constructor(root: string) {
    this.state = path.join(root, 'state')
    this.logs = path.join(root, 'logs')
    this.work = path.join(root, 'work')
    this.sandboxes = path.join(root, 'sandboxes')
    for (const folder of [this.state, this.logs, this.work, this.sandboxes]) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    }
  }

  prefix(id: string): string {
    return path.join(this.state, id)
  }
  log(id: string): string {
    return path.join(this.logs, `${id}.log`)
  }
  workFolder(id: string): string {
    return path.join(this.work, id)
  }

  /** All that a container needs before it starts, its record last. Nothing is left of one that cannot be made. */
  make(record: ContainerRecord): void {
    const { id, config } = record
    try {
      makeWorkFolder(this.workFolder(id), config.mounts)
      makeInput(this.prefix(id), config)
      // Made at once: a client may follow the log before the first byte.
      writeFileSync(this.log(id), '', { mode: 0o600 })
      this.#write(`${this.prefix(id)}.json`, JSON.stringify(record))
    } catch (error) {
      this.remove(id)
      throw error
    }
  }
  records(): ContainerRecord[] {
    return this.#readAll(this.state)
  }

  writeSandbox(sandbox: Sandbox): void {
    this.#write(path.join(this.sandboxes, `${sandbox.id}.json`), JSON.stringify(sandbox))
  }
  readSandboxes(): Sandbox[] {
    return this.#readAll(this.sandboxes)
  }
  removeSandbox(id: string): void {
    rmSync(path.join(this.sandboxes, `${id}.json`), { force: true })
  }

  pids(id: string): ShimPids | undefined {
    const file = `${this.prefix(id)}.pid`
    const text = readOr(file)
    const lines = text?.split('\n') ?? []
    // Four parts: three lines that are complete.
    if (lines.length < 4) return undefined
    const [shimPid, pid] = lines[0]!.split(' ').map(Number)
    if (!shimPid || !pid) return undefined
    return {
      shim: { pid: shimPid, startTime: startTimeOf(lines[1]!) },
      main: { pid, startTime: startTimeOf(lines[2]!) },
      startedAt: Math.floor(statSync(file).mtimeMs),
    }
  }

  /** The exit code, with reason and message when it was not the shim that wrote it. */
  exit(id: string): ShimExit | undefined {
    const file = `${this.prefix(id)}.exit`
    const text = readOr(file)
    if (!text?.endsWith('\n')) return undefined
    const [code = '137', reason = '', ...words] = text.trimEnd().split(' ')
    return {
      exitCode: Number(code),
      reason,
      message: words.join(' '),
      finishedAt: Math.floor(statSync(file).mtimeMs),
    }
  }

  writeExit(id: string, exitCode: number, reason: string, message: string): void {
    const oneLine = message.replaceAll('\n', ' ')
    this.#write(`${this.prefix(id)}.exit`, `${exitCode} ${reason} ${oneLine}\n`)
  }

  /** Claims the container, so that no shim will start it any more; false when a shim was first. */
  claim(id: string): boolean {
    try {
      writeFileSync(`${this.prefix(id)}.run`, 'kubelet\n', { flag: 'wx' })
      return true
    } catch {
      return readOr(`${this.prefix(id)}.run`) === 'kubelet\n'
    }
  }
  /** Pid of the shim that has claimed the container. */
  claimant(id: string): number {
    return Number(readOr(`${this.prefix(id)}.run`)?.trim() ?? 0) || 0
  }

  /** Claims of containers that are forgotten, for which no shim can still be under way. */
  removeOldClaims(now: number): void {
    for (const name of readdirSync(this.state)) {
      const id = name.slice(0, -'.run'.length)
      if (!name.endsWith('.run') || existsSync(`${this.prefix(id)}.json`)) continue
      const file = `${this.prefix(id)}.run`
      if (now - statSync(file).mtimeMs > limits.shimClaimMsMax) rmSync(file, { force: true })
    }
  }

  markHalted(id: string): void {
    writeFileSync(`${this.prefix(id)}.halted`, '')
  }
  isHalted(id: string): boolean {
    return existsSync(`${this.prefix(id)}.halted`)
  }

  remove(id: string): void {
    this.removeAllButClaim(id)
    rmSync(`${this.prefix(id)}.run`, { force: true })
  }

  /** The claim stays: a shim that an earlier kubelet has started may still be on its way to it. */
  removeAllButClaim(id: string): void {
    for (const suffix of ['pid', 'exit', 'halted', 'stdin', 'held', 'json']) {
      rmSync(`${this.prefix(id)}.${suffix}`, { force: true })
    }
    for (const suffix of ['log', 'log.1', 'times']) {
      rmSync(path.join(this.logs, `${id}.${suffix}`), { force: true })
    }
    removeTreeSync(this.workFolder(id))
  }

  #write(file: string, text: string): void {
    writeFileSync(`${file}.new`, text, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }

  #readAll<T>(folder: string): T[] {
    const found: T[] = []
    for (const name of readdirSync(folder)) {
      // A record is renamed into place whole; anything else in the folder is not ours.
      if (!name.endsWith('.json')) continue
      const file = path.join(folder, name)
      const record = parsedOr<T>(readFileSync(file, 'utf8'))
      // Only a power cut leaves half of one, and nothing of what it told of.
      if (record === undefined) rmSync(file)
      else found.push(record)
    }
    return found
  }
}
