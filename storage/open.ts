/** A storage URL to its driver: `memory:`, `level:DIR` or
 * `etcd:http://HOST:2379[,…][?cafile=…&certfile=…&keyfile=…&prefix=…]`. Drivers are imported when they are asked for. */
import type { Clock } from '#api/clock.js'
import { getOwn } from '#json/object.js'
import { type StorageDriver, StorageError } from './driver.js'

interface OpenStorageOptions {
  readonly clock: Clock
  /** Where a store that is created now starts (a restore); etcd counts by itself. */
  readonly startRevision?: number
  /** A store that is not there is an error, as one in memory always is; otherwise it is created. */
  readonly existing?: boolean
}

type Opener = (rest: string, options: OpenStorageOptions) => Promise<StorageDriver>

const openers: Readonly<Record<string, Opener>> = {
  memory: async (_, { existing, ...options }) => {
    if (existing)
      throw new StorageError('Unavailable', 'what is kept in memory only its own server can tell')
    return (await import('./memory/memory-driver.js')).openMemory(options)
  },
  level: async (directory, options) =>
    (await import('./level/level-driver.js')).openLevel({ directory, ...options }),
  etcd: async (rest, { clock }) => {
    const [servers = '', query] = rest.split('?', 2)
    const parameters = new URLSearchParams(query)
    const text = (name: string) => parameters.get(name) ?? undefined
    return (await import('./etcd/etcd-driver.js')).openEtcd({
      servers,
      caFile: text('cafile'),
      certFile: text('certfile'),
      keyFile: text('keyfile'),
      prefix: text('prefix'),
      clock,
    })
  },
}

/** Throws a StorageError: Unavailable for a URL of no known scheme, and what the driver throws. */
export const openStorage = async (
  url: string,
  options: OpenStorageOptions,
): Promise<StorageDriver> => {
  const colon = url.indexOf(':')
  const open = colon < 0 ? undefined : getOwn(openers, url.slice(0, colon))
  if (open === undefined) {
    const known = Object.keys(openers).map((scheme) => `${scheme}:`)
    throw new StorageError('Unavailable', `storage ${url}: want one of ${known.join(', ')}`)
  }
  return open(url.slice(colon + 1), options)
}
