/** A storage URL to its driver: `memory:`, `level:DIR` or `etcd:http://HOST:2379[,…]`. Drivers are imported when they are asked for. */
import type { Clock } from '#api/clock.js'
import { type StorageDriver, StorageError } from './driver.js'

export interface OpenStorageOptions {
  readonly clock: Clock
  /** For etcd alone: TLS files, and what comes before every key. */
  readonly etcd?: {
    readonly caFile?: string
    readonly certFile?: string
    readonly keyFile?: string
    readonly keyPrefix?: string
  }
}

type Opener = (rest: string, options: OpenStorageOptions) => Promise<StorageDriver>

const openers: Readonly<Record<string, Opener>> = {
  memory: async (_, options) => (await import('./memory/memory-driver.js')).openMemory(options),
  level: async (directory, options) =>
    (await import('./level/level-driver.js')).openLevel({ directory, ...options }),
  etcd: async (servers, { clock, etcd }) =>
    (await import('./etcd/etcd-driver.js')).openEtcd({ ...etcd, servers, clock }),
}

/** Throws a StorageError: Unavailable for a URL of no known scheme, and what the driver throws. */
export const openStorage = async (
  url: string,
  options: OpenStorageOptions,
): Promise<StorageDriver> => {
  const colon = url.indexOf(':')
  const open = colon < 0 ? undefined : openers[url.slice(0, colon)]
  if (open === undefined) {
    const known = Object.keys(openers).map((scheme) => `${scheme}:`)
    throw new StorageError('Unavailable', `storage ${url}: want one of ${known.join(', ')}`)
  }
  return open(url.slice(colon + 1), options)
}
