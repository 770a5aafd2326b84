/**
 * Our keys in etcd. `/registry` is replaced by the prefix of `--etcd-prefix`, as upstream's, so that several clusters can
 * share one etcd.
 */
import path from 'node:path'
import { type KeyValue, StorageError } from '../driver.js'
import type { EtcdKeyValue } from './messages.js'

/** Written below the prefix of a watch to carry it on; never shown. */
export const fenceSuffix = '.kubelevel-fence'
export const isFence = (key: string): boolean => key.endsWith(fenceSuffix)

export const bytesOfKey = (key: Buffer): string => key.toString('utf8')

/** etcd's end of a range for "everything from here on". */
const noEnd = Buffer.from([0])

const endOf = (prefix: Buffer): Buffer => {
  for (let i = prefix.length - 1; i >= 0; i--) {
    if (prefix[i]! === 0xff) continue
    const end = Buffer.from(prefix.subarray(0, i + 1))
    end[i]!++
    return end
  }
  return noEnd
}

/** What the keys of every object start with here. */
export const registryRoot = '/registry/'

export class KeySpace {
  readonly #root: string
  readonly #place: string

  /** All keys start with `root`; in etcd they start with `place` instead. */
  constructor(root: string, place: string) {
    this.#root = root
    this.#place = place
  }

  /** The key that upstream reads to see whether etcd answers; it need not exist. */
  get healthKey(): Buffer {
    return Buffer.from(`${this.#place}health`)
  }

  toEtcd(key: string): Buffer {
    if (!key.startsWith(this.#root))
      throw new StorageError('Unavailable', `etcd: the key ${key} is outside of ${this.#root}`)
    return Buffer.from(this.#place + key.slice(this.#root.length))
  }

  fromEtcd(key: string): string {
    return this.#root + key.slice(this.#place.length)
  }

  /** A prefix that is shorter than the root means all keys. */
  range(prefix: string, start: string): { key: Buffer; range_end: Buffer } {
    const inside = (text: string) => this.toEtcd(this.#root.startsWith(text) ? this.#root : text)
    const from = inside(start)
    return { key: from.length === 0 ? noEnd : from, range_end: endOf(inside(prefix)) }
  }

  keyValue({ key, value, mod_revision, create_revision }: EtcdKeyValue): KeyValue {
    return {
      key: this.fromEtcd(bytesOfKey(key)),
      value,
      modRevision: Number(mod_revision),
      createRevision: Number(create_revision),
    }
  }
}

/** Upstream's `path.Join("/", prefix)`, with the slash that ends it. */
export const placeOf = (prefix: string): string => path.posix.join('/', prefix, '/')
