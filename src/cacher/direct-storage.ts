/** Objects in a driver: its values as versions, lists and watches past the cache, and writes. */
import { internalError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import { Turn } from '#async/turns.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import type {
  Compare,
  KeyValue,
  RangeOptions,
  StorageDriver,
  StorageEvent,
} from '#storage/driver.js'
import { isEncrypted, unencryptedProblem } from '#storage/encrypted/transformer.js'
import { type Encoded, encodeObject } from './object-bytes.js'
import {
  type ListOptions,
  type ListPage,
  type ObjectEvent,
  type ObjectEventBatch,
  type Selection,
  type StoredObject,
  WriteConflict,
} from './object-storage.js'
import { refusalOf } from './request-size.js'
import type { SelectableFields } from './resource-indexes.js'
import { StoredVersion, type WorkingSets } from './stored-version.js'
import { UnreadableVersion } from './unreadable-version.js'
import { Change } from './watch-event.js'

const openingBrace = 0x7b
const lineEnd = 0x0a

/** JSON that kube-apiserver stored ends in a line end; ours does not. */
const withoutLineEnd = (value: Buffer): Buffer =>
  value[value.length - 1] === lineEnd ? value.subarray(0, -1) : value

export const versionOf = (kv: KeyValue, sets: WorkingSets): StoredVersion => {
  const { key, value, modRevision, createRevision } = kv
  const isJson = value[0] === openingBrace
  const why = kv.unreadable ?? (isJson || !isEncrypted(value) ? undefined : unencryptedProblem)
  if (why !== undefined)
    return new UnreadableVersion({ key, value, revision: modRevision }, sets, why)
  const read = sets.readForeign(value)
  const json = isJson ? withoutLineEnd(read) : read
  return new StoredVersion(key, json, modRevision, sets, modRevision === createRevision)
}

/** The text of the error for a value that cannot be read; `where` is the key as the driver has it. */
export const unreadableText = (where: string, why: string): string =>
  `unable to transform key ${goQuote(where)}: ${why}`

/** A page of the state at `revision` (absent: the newest), read from the driver. */
export const listFromDriver = async (
  driver: StorageDriver,
  options: Omit<ListOptions, 'consistency'> & { revision?: number },
  sets: WorkingSets,
): Promise<ListPage> => {
  const { selection, limit } = options
  if (selection.key !== undefined) return listKeyFromDriver(driver, options, sets)
  const items: StoredVersion[] = []
  let { revision, startKey: start = selection.prefix } = options
  if (start < selection.prefix) start = selection.prefix
  const showsAll = selection.matches === undefined
  const turn = new Turn()
  for (;;) {
    const range: RangeOptions = {
      prefix: selection.prefix,
      start,
      limit: showsAll && limit > 0 ? Math.min(limit, limits.rangeLength) : limits.rangeLength,
      revision,
    }
    const { kvs, more, count, revision: head } = await driver.range(range)
    // All pages of one list show one revision.
    revision ??= head
    for (const [index, kv] of kvs.entries()) {
      start = `${kv.key}\0`
      const version = readable(driver, versionOf(kv, sets))
      if (!selects(selection, version)) continue
      items.push(version)
      if (items.length !== limit) continue
      const left = more || index < kvs.length - 1
      if (!left) return { items, revision }
      const page = { items, revision, nextKey: start }
      return showsAll ? { ...page, remaining: count - index - 1 } : page
    }
    if (!more) return { items, revision }
    // A store in memory answers in the same turn.
    if (turn.isOver) await turn.next()
  }
}

/** A list that can only find one key is a get of that key, and never has a next page (apiserver, store.go ListPredicate). */
const listKeyFromDriver = async (
  driver: StorageDriver,
  { selection, startKey, revision }: Omit<ListOptions, 'consistency'> & { revision?: number },
  sets: WorkingSets,
): Promise<ListPage> => {
  const key = selection.key!
  const { kvs, revision: head } = await driver.range({ prefix: key, limit: 1, revision })
  const found = kvs[0]?.key === key ? readable(driver, versionOf(kvs[0], sets)) : undefined
  const isShown =
    found !== undefined &&
    key >= (startKey ?? '') &&
    key.startsWith(selection.prefix) &&
    selects(selection, found)
  return { items: isShown ? [found] : [], revision: revision ?? head }
}

/** A list fails as a whole when one of its objects cannot be read (apiserver, etcd3/store.go GetList). */
const readable = (driver: StorageDriver, version: StoredVersion): StoredVersion => {
  const { key, why } = version
  if (why !== undefined) throw internalError(unreadableText(driver.storedKey?.(key) ?? key, why))
  return version
}

const selects = ({ matches }: Selection, version: StoredVersion): boolean =>
  matches === undefined || matches(version)

/**
 * The change that an event of the driver is. A driver that keeps its history in memory yields the same events to all who
 * read it, and they share what is decoded of them: after a restart every client reads it.
 */
export const changesOf = (sets: WorkingSets): ((event: StorageEvent) => Change) =>
  oncePerObject(
    ({ revision, value, previous }) =>
      new Change(revision, value && versionOf(value, sets), previous && versionOf(previous, sets)),
  )

/** The driver's history as object events. Batches without any are progress. */
export async function* watchDriver(
  driver: StorageDriver,
  options: { selection: Selection; after?: number; signal: AbortSignal },
  { changeOf, fields }: { changeOf: ReturnType<typeof changesOf>; fields: SelectableFields },
): AsyncGenerator<ObjectEventBatch> {
  const { selection, after, signal } = options
  for await (const batch of driver.watch({ prefix: selection.prefix, after, signal })) {
    const events: ObjectEvent[] = []
    const turn = new Turn()
    for (const event of batch.events) {
      const seen = changeOf(event).seenBy(selection, fields)
      if (seen !== undefined) events.push(seen)
      if (turn.isOver) await turn.next()
    }
    yield { revision: batch.revision, events }
  }
}

/** An object and its bytes. */
interface Written {
  readonly object: KubeObject
  readonly encoded: Encoded
}

/** The value that kube-apiserver would store for an object, which is the given JSON here. */
export type UpstreamValueOf = (object: KubeObject, json: Buffer) => Buffer

/** The three writes of object storage as driver transactions. */
export class ObjectWriter {
  readonly #driver: StorageDriver
  readonly #sets: WorkingSets
  readonly #upstreamValueOf: UpstreamValueOf | undefined
  /** Objects that were written and that no event has claimed with `take` yet, by their stored bytes. */
  readonly #written = new Map<Buffer, Written>()

  constructor(driver: StorageDriver, sets: WorkingSets, upstreamValueOf?: UpstreamValueOf) {
    this.#driver = driver
    this.#sets = sets
    this.#upstreamValueOf = upstreamValueOf
  }

  /** The object that `value` was encoded from, which spares decoding `value`. Yields it once. */
  take(value: Buffer): Written | undefined {
    const written = this.#written.get(value)
    // The map is keyed by the value, which lives on: the object would live as long if it stayed here.
    if (written !== undefined) this.#written.delete(value)
    return written
  }

  create = (key: string, object: KubeObject, ttlSeconds?: number): Promise<StoredVersion> =>
    this.#put({ key, modRevision: 0 }, object, encodeObject(object), ttlSeconds)

  update = (
    expected: StoredObject,
    object: KubeObject,
    ttlSeconds?: number,
  ): Promise<StoredVersion> => {
    const before = expected instanceof StoredVersion ? expected.encoded : undefined
    const { key, revision: modRevision } = expected
    return this.#put({ key, modRevision }, object, encodeObject(object, before), ttlSeconds)
  }

  delete = async (expected: StoredObject): Promise<StoredVersion> => {
    const { key, revision: modRevision } = expected
    const result = await this.#driver.txn([{ key, modRevision }], [{ type: 'delete', key }])
    if (!result.succeeded) throw this.#conflict(result.current[0])
    const last =
      expected instanceof StoredVersion
        ? expected
        : new StoredVersion(key, encodeObject(expected.object).value, modRevision, this.#sets)
    return last.at(result.revision)
  }

  async #put(
    compare: Compare,
    object: KubeObject,
    encoded: Encoded,
    ttlSeconds: number | undefined,
  ): Promise<StoredVersion> {
    const { key } = compare
    const { value } = encoded
    const sent = this.#within(compare, object, value, ttlSeconds !== undefined)
    this.#written.set(value, { object, encoded })
    let revision: number | undefined
    try {
      const put = { type: 'put', key, value: sent, ttlSeconds } as const
      const result = await this.#driver.txn([compare], [put])
      if (!result.succeeded) throw this.#conflict(result.current[0])
      revision = result.revision
    } finally {
      if (revision === undefined) this.take(value)
    }
    return new StoredVersion(key, value, revision, this.#sets)
  }

  /**
   * The value to send. Throws etcd's refusal of an object that would be too large for it as kube-apiserver stores it. A large
   * object in a store that others share is written in the shorter form.
   */
  #within(
    { key, modRevision }: Compare,
    object: KubeObject,
    json: Buffer,
    hasLease: boolean,
  ): Buffer {
    if (json.length < limits.etcdCountedFromBytes || this.#upstreamValueOf === undefined)
      return json
    const driver = this.#driver
    const value = this.#upstreamValueOf(object, json)
    const refusal = refusalOf({
      key: driver.storedKey?.(key) ?? key,
      valueBytes: driver.encryption?.sizeOf(key, value) ?? value.length,
      modRevision,
      hasLease,
    })
    if (refusal !== undefined) throw refusal
    return driver.shared && value.length < json.length ? value : json
  }

  #conflict(current: KeyValue | undefined): WriteConflict {
    return new WriteConflict(current && versionOf(current, this.#sets))
  }
}
