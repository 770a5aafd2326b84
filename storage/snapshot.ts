/**
 * A snapshot holds everything that a store held at one revision, in memory. A restore goes back to it while others write
 * and watch.
 *
 * A restore is made of ordinary transactions. Each one writes a single key and so has a revision of its own: a client that
 * loses its watch between two events resumes after the revision of the first, and would miss the second if both had the
 * same. Keys are removed first, owners before what they own, so that no controller makes that anew. Definitions of custom
 * resources are removed last, because watches of their objects end with them; they are written before all others, which
 * follow in the order in which they were created: namespaces and owners before what needs them. An object of the same
 * name with another uid is deleted and created, as watchers expect it.
 */
import { limits } from '#limits'
import { type KeyValue, type Operation, type StorageDriver, StorageError } from './driver.js'

interface KeptValue {
  readonly value: Buffer
  readonly createRevision: number
}

export interface StoreSnapshot {
  readonly revision: number
  readonly bytes: number
  /** In the order of keys. */
  readonly values: ReadonlyMap<string, KeptValue>
}

export interface Restored {
  /** The head when all was written. */
  readonly revision: number
  readonly created: number
  readonly updated: number
  readonly deleted: number
}

/** What a restore has to know of the objects in the values. */
export interface ValuesOfObjects {
  /** Undefined if the value has none. */
  uidOf(value: Buffer): string | undefined
  /** For keys that expire. */
  ttlSecondsOf(key: string): number | undefined
  /** What watchers must see before the key is removed; undefined if nothing. */
  lastShownOf(key: string, value: Buffer): Buffer | undefined
}

/**
 * Keys by which running servers know each other. They are neither kept nor restored, or a server would be taken for dead
 * or for alive.
 */
const ofRunningServers =
  /^\/registry\/(?:masterleases|peerserverleases|leases\/kube-system\/apiserver-[0-9a-z]{26}$)/

const definitions = '/registry/apiextensions.k8s.io/customresourcedefinitions/'

const readAll = async (driver: StorageDriver) => {
  const { kvs, revision } = await driver.range({ prefix: '/registry/' })
  return { kvs: kvs.filter(({ key }) => !ofRunningServers.test(key)), revision }
}

/**
 * The driver is the one that decrypts: a restored value is encrypted with the key of that time. Throws TooLarge, and
 * NotTransformed if a value cannot be decrypted.
 */
export const takeSnapshot = async (driver: StorageDriver): Promise<StoreSnapshot> => {
  const { kvs, revision } = await readAll(driver)
  const values = new Map<string, KeptValue>()
  let bytes = 0
  for (const { key, value, createRevision, unreadable } of kvs) {
    if (unreadable !== undefined) throw new StorageError('NotTransformed', `${key}: ${unreadable}`)
    bytes += key.length + value.length
    values.set(key, { value, createRevision })
  }
  if (bytes > limits.snapshotBytesMax) {
    const why = `a snapshot holds at most ${limits.snapshotBytesMax} bytes, the store has ${bytes}`
    throw new StorageError('TooLarge', why)
  }
  return { revision, bytes, values }
}

/** A key that differs. Without `wanted` it is to be removed. */
interface Change {
  readonly key: string
  readonly current: KeyValue | undefined
  readonly wanted: Buffer | undefined
}

const isSame = (current: KeyValue | undefined, wanted: Buffer | undefined): boolean =>
  current === undefined || wanted === undefined
    ? current === wanted
    : current.unreadable === undefined && current.value.equals(wanted)

const byAge = (a: { createRevision: number }, b: { createRevision: number }): number =>
  a.createRevision - b.createRevision

/** All changes of a step are written before the next step begins. */
const stepsBack = (kvs: readonly KeyValue[], { values }: StoreSnapshot): Change[][] => {
  const stored = new Map(kvs.map((kv) => [kv.key, kv]))
  const gone = kvs.filter(({ key }) => !values.has(key)).sort(byAge)
  const removal = (current: KeyValue): Change => ({ key: current.key, current, wanted: undefined })
  const isDefinition = ({ key }: { readonly key: string }): boolean => key.startsWith(definitions)
  const writes = [...values]
    .sort(([, a], [, b]) => byAge(a, b))
    .map(([key, { value }]) => ({ key, current: stored.get(key), wanted: value }))
    .filter(({ current, wanted }) => !isSame(current, wanted))
  return [
    gone.filter((kv) => !isDefinition(kv)).map(removal),
    gone.filter(isDefinition).map(removal),
    writes.filter(isDefinition),
    writes.filter((change) => !isDefinition(change)),
  ]
}

/** Undefined if the key holds `wanted`. */
const nextWrite = (
  { key, current, wanted }: Change,
  { uidOf, ttlSecondsOf, lastShownOf }: ValuesOfObjects,
): Operation | undefined => {
  if (isSame(current, wanted)) return undefined
  const put = (value: Buffer): Operation => ({
    type: 'put',
    key,
    value,
    ttlSeconds: ttlSecondsOf(key),
  })
  const isAlike =
    current === undefined || wanted === undefined || uidOf(current.value) === uidOf(wanted)
  if (wanted !== undefined && isAlike) return put(wanted)
  const last = lastShownOf(key, current!.value)
  return last === undefined ? { type: 'delete', key } : put(last)
}

/** Writes until the key has held `wanted`, against others that write to it. */
const write = async (
  { key, current: first, wanted }: Change,
  driver: StorageDriver,
  objects: ValuesOfObjects,
): Promise<void> => {
  let current = first
  for (let tries = 0; tries < limits.restoreTriesMax; tries++) {
    const operation = nextWrite({ key, current, wanted }, objects)
    if (operation === undefined) return
    const result = await driver.txn([{ key, modRevision: current?.modRevision ?? 0 }], [operation])
    if (!result.succeeded) current = result.current[0]
    else if (operation.type === 'delete') current = undefined
    else {
      const { revision } = result
      const createRevision = current?.createRevision ?? revision
      current = { key, value: operation.value, modRevision: revision, createRevision }
    }
  }
  throw new StorageError('Unavailable', `others go on writing to ${key}`)
}

/**
 * What others write to a key before its turn is undone, what they write after it stays. A restore that failed may have
 * written some keys; it can be repeated.
 */
export const restoreSnapshot = async (
  snapshot: StoreSnapshot,
  driver: StorageDriver,
  objects: ValuesOfObjects,
): Promise<Restored> => {
  const { kvs } = await readAll(driver)
  const steps = stepsBack(kvs, snapshot)
  for (const step of steps)
    for (let at = 0; at < step.length; at += limits.restoreWritesMax) {
      const together = step.slice(at, at + limits.restoreWritesMax)
      await Promise.all(together.map((change) => write(change, driver, objects)))
    }
  const changes = steps.flat()
  const created = changes.filter(({ current }) => current === undefined).length
  const deleted = changes.filter(({ wanted }) => wanted === undefined).length
  const revision = await driver.headRevision()
  return { revision, created, updated: changes.length - created - deleted, deleted }
}
