/** Our keys in etcd: all below one prefix, so that several clusters can share one etcd. */
import type { KeyValue } from '../driver.js'
import type { EtcdKeyValue } from './api.js'

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

export class KeySpace {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  toEtcd(key: string): Buffer {
    return Buffer.from(this.#prefix + key)
  }

  fromEtcd(key: string): string {
    return key.slice(this.#prefix.length)
  }

  range(prefix: string, start: string): { key: Buffer; range_end: Buffer } {
    const from = this.toEtcd(start)
    return { key: from.length === 0 ? noEnd : from, range_end: endOf(this.toEtcd(prefix)) }
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
