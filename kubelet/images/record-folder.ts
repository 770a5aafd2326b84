/** Records of one kind, each under the name of an image: in memory, and in files for the kubelet that comes next. */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { sha256 } from '#client/csi-volume.js'
import { removeReplaced, replaceFile } from '../replace-file.js'
import { Turns } from '../turns.js'
import { unlessGone } from '../unless-gone.js'

const apiVersion = 'kubelet.config.k8s.io/v1beta1'
const fileOf = (name: string): string => `sha256-${sha256(name)}`

export class RecordFolder<T extends object> {
  readonly #folder: string
  readonly #kind: string
  /** By name of file: one that cannot be read does not say whose it is. */
  readonly #records = new Map<string, T | 'unreadable'>()
  readonly #writes = new Turns()

  constructor(folder: string, kind: string) {
    this.#folder = folder
    this.#kind = kind
  }

  /** `read` throws for what is no such record. */
  async open(read: (value: unknown) => T): Promise<void> {
    for (const file of (await unlessGone(readdir(this.#folder))) ?? []) {
      if (!/^sha256-[0-9a-f]+$/.test(file)) continue
      const text = await readFile(path.join(this.#folder, file), 'utf8').catch(() => '')
      this.#records.set(file, this.#parse(text, read))
    }
  }

  #parse(text: string, read: (value: unknown) => T): T | 'unreadable' {
    try {
      return read(JSON.parse(text))
    } catch {
      return 'unreadable'
    }
  }

  get(name: string): T | 'unreadable' | undefined {
    return this.#records.get(fileOf(name))
  }
  readable(): T[] {
    return [...this.#records.values()].filter((record) => record !== 'unreadable')
  }

  /** Resolves when it is in its file. */
  set(name: string, record: T): Promise<void> {
    const file = fileOf(name)
    this.#records.set(file, record)
    const text = JSON.stringify({ kind: this.#kind, apiVersion, ...record })
    return this.#writes.next([file], () => replaceFile(path.join(this.#folder, file), text))
  }
  delete(name: string): Promise<void> {
    const file = fileOf(name)
    this.#records.delete(file)
    return this.#writes.next([file], () => removeReplaced(path.join(this.#folder, file)))
  }
}
