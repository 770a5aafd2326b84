/**
 * What a process did to its files, read from strace, and what a power cut might have left of it: the metadata of the
 * file system in its order (as ext4 keeps it), of each file what was synced, and of the rest anything.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** What strace must tell for this. */
export const traceFlags = ['-f', '-y', '-xx', '-s', '4194304', '-e', 'signal=none', '-e']
export const tracedCalls = 'trace=openat,write,pwrite64,fdatasync,fsync,rename,unlink,ftruncate'

interface File {
  bytes: Buffer
  synced: Buffer
  /** Where the next write goes. */
  at: number
}

/** A system call that has returned; `fd` is the path behind it. */
interface TracedCall {
  readonly name: string
  readonly path: string
  readonly to: string
  readonly data: Buffer
  readonly offset: number | undefined
  readonly isCut: boolean
}

const bytesIn = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex')

/** The calls of a trace that succeeded, in the order in which they returned. */
export const readTrace = (trace: string): TracedCall[] => {
  const calls: TracedCall[] = []
  const begun = new Map<string, string>()
  for (const line of trace.split('\n')) {
    const found = /^(\d+)\s+(.*)$/.exec(line)
    if (found === null) continue
    const [, process = '', rest = ''] = found
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(process, rest.slice(0, -'<unfinished ...>'.length))
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)
    const call = callOf(resumed === null ? rest : `${begun.get(process)}${resumed[1]}`)
    if (call !== undefined) calls.push(call)
  }
  return calls
}

const callOf = (text: string): TracedCall | undefined => {
  const found = /^(\w+)\((.*)\)\s+= (-?\d+)/.exec(text)
  if (found === null || Number(found[3]) < 0) return undefined
  const [, name = '', args = ''] = found
  const texts = [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) => bytesIn(hex!))
  const ofFd = /^\d+<([^>]*)>/.exec(args)?.[1]
  const named = name === 'openat' || name === 'rename' || name === 'unlink'
  return {
    name,
    path: String(named ? texts[0] : bytesIn(ofFd ?? '')),
    to: name === 'rename' ? String(texts[1]) : '',
    data: named ? Buffer.alloc(0) : (texts[0] ?? Buffer.alloc(0)),
    offset:
      /, (\d+)$/.exec(args)?.[1] === undefined ? undefined : Number(/, (\d+)$/.exec(args)![1]),
    isCut: args.includes('O_TRUNC'),
  }
}

const none = Buffer.alloc(0)

export class TracedDisk {
  readonly #directory: string
  readonly #files = new Map<string, File>()
  #last: { file: File; from: number; to: number } | undefined

  /** Only files of `directory` count. */
  constructor(directory: string) {
    this.#directory = directory
  }

  apply(call: TracedCall): void {
    if (!call.path.startsWith(`${this.#directory}/`)) return
    const { name, path, to, data, offset = 0 } = call
    const file = this.#files.get(path)
    if (name === 'openat') this.#open(call)
    else if (file === undefined) return
    else if (name === 'write') {
      this.#put(file, file.at, data)
      file.at += data.length
    } else if (name === 'pwrite64') this.#put(file, offset, data)
    else if (name === 'fdatasync' || name === 'fsync') file.synced = Buffer.from(file.bytes)
    else if (name === 'ftruncate') file.bytes = file.bytes.subarray(0, offset)
    else {
      this.#files.delete(path)
      if (name === 'rename') this.#files.set(to, file)
    }
  }

  #open({ path, isCut }: TracedCall): void {
    const file = this.#files.get(path)
    if (file === undefined) this.#files.set(path, { bytes: none, synced: none, at: 0 })
    else if (isCut) Object.assign(file, { bytes: none, at: 0 })
  }

  #put(file: File, at: number, data: Buffer): void {
    const length = Math.max(file.bytes.length, at + data.length)
    const bytes = Buffer.alloc(length)
    file.bytes.copy(bytes)
    data.copy(bytes, at)
    file.bytes = bytes
    this.#last = { file, from: at, to: at + data.length }
  }

  /** The names of what a cut now might leave. */
  states(): string[] {
    const unsynced = [...this.#files].filter(([, { bytes, synced }]) => !bytes.equals(synced))
    return ['all', 'synced', 'torn', ...unsynced.map(([path]) => `synced and ${basename(path)}`)]
  }

  /** Writes the files of one of `states` to another folder. */
  restore(state: string, directory: string): void {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    for (const [path, file] of this.#files) {
      const name = basename(path)
      const isWhole = state === 'all' || state === 'torn' || state === `synced and ${name}`
      let bytes = isWhole ? file.bytes : file.synced
      if (state === 'torn' && this.#last?.file === file) {
        const { from, to } = this.#last
        bytes = bytes.subarray(0, Math.max(file.synced.length, from + ((to - from) >> 1)))
      }
      writeFileSync(join(directory, name), bytes)
    }
  }
}
