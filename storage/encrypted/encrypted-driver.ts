/**
 * A driver that encrypts the values of another one, as configured for each resource. The cacher and the registry in front
 * of it, and the driver and backups behind it, know nothing of that.
 *
 * Values are encrypted in the turn of the call, so that writes still share a batch. Decrypting may have to wait for a key
 * that only a plugin can open. A value that cannot be decrypted is returned as it is stored, with the reason, so that the
 * others of the same read are not affected.
 */
import { allKnown, whenKnown } from '#async/when-known.js'
import {
  type Compare,
  type EventBatch,
  type HealthQuestion,
  type KeyValue,
  type Operation,
  type RangeOptions,
  type RangeResult,
  type StorageDriver,
  StorageError,
  type StorageEvent,
  type TransactionResult,
  type WatchOptions,
} from '../driver.js'
import type { About, Opened, Transformer } from './transformer.js'

interface ResourceTransformer {
  readonly transformer: Transformer
  readonly resource: string
}

/** The transformer of a key, or undefined where its resource is not encrypted. */
export type Transformers = (key: string) => ResourceTransformer | undefined

/** The current configuration, and how often it has changed. */
export interface Encryption {
  readonly transformers: Transformers
  readonly changes: number
}

/**
 * A decrypted value, kept by the stored one: drivers that hold values in memory return the same buffers again and again.
 */
interface Read extends Opened {
  readonly by: Transformers
  readonly writesWith: string | undefined
}

export class EncryptedDriver implements StorageDriver {
  readonly name: string
  readonly shared: boolean
  readonly encryption: NonNullable<StorageDriver['encryption']>
  readonly #driver: StorageDriver
  readonly #encryption: Encryption
  readonly #read = new WeakMap<Buffer, Read>()

  constructor(driver: StorageDriver, encryption: Encryption) {
    this.#driver = driver
    this.#encryption = encryption
    this.name = driver.name
    this.shared = driver.shared
    this.encryption = {
      hasChanged: () => encryption.changes > 0,
      covers: (key) => encryption.transformers(key) !== undefined,
      sizeOf: (key, value) => this.#sizeOf(key, value),
    }
  }

  storedKey(key: string): string {
    return this.#driver.storedKey?.(key) ?? key
  }

  headRevision(): Promise<number> {
    return this.#driver.headRevision()
  }

  async get(key: string): Promise<{ kv: KeyValue | undefined; revision: number }> {
    const { kv, revision } = await this.#driver.get(key)
    return { kv: kv && (await this.#open(kv)), revision }
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    const result = await this.#driver.range(options)
    return { ...result, kvs: await allKnown(result.kvs.map((kv) => this.#open(kv))) }
  }

  async txn(
    compares: readonly Compare[],
    operations: readonly Operation[],
  ): Promise<TransactionResult> {
    const result = await this.#driver.txn(compares, this.#sealed(operations))
    if (result.succeeded) return result
    const current = await Promise.all(result.current.map((kv) => kv && this.#open(kv)))
    return { ...result, current }
  }

  /** The inner watch is opened at once, because a watch "from now" begins with this call. */
  watch(options: WatchOptions): AsyncIterable<EventBatch> {
    return this.#openBatches(this.#driver.watch(options))
  }

  compact(revision: number): Promise<void> {
    return this.#driver.compact(revision)
  }

  compactedRevision(): number {
    return this.#driver.compactedRevision()
  }

  health(question: HealthQuestion): Promise<string | undefined> {
    return this.#driver.health(question)
  }

  close(): Promise<void> {
    return this.#driver.close()
  }

  async *#openBatches(batches: AsyncIterable<EventBatch>): AsyncGenerator<EventBatch> {
    for await (const batch of batches) {
      const events = await allKnown(batch.events.map((event) => this.#openEvent(event)))
      yield { ...batch, events }
    }
  }

  #openEvent(event: StorageEvent): StorageEvent | Promise<StorageEvent> {
    const { value, previous } = event
    return whenKnown(value && this.#open(value), (value) =>
      whenKnown(previous && this.#open(previous), (previous) => ({ ...event, value, previous })),
    )
  }

  #open(kv: KeyValue): KeyValue | Promise<KeyValue> {
    const by = this.#encryption.transformers
    const found = by(kv.key)
    if (found === undefined) return kv
    const writesWith = found.transformer.writesWith?.()
    const known = this.#read.get(kv.value)
    if (known?.by === by && known.writesWith === writesWith) return shown(kv, known)
    const done = (opened: Opened): KeyValue => {
      this.#read.set(kv.value, { ...opened, by, writesWith })
      return shown(kv, opened)
    }
    const failed = (error: unknown): KeyValue => ({ ...kv, unreadable: (error as Error).message })
    try {
      const opened = found.transformer.fromStorage(kv.value, this.#about(kv.key, found))
      return opened instanceof Promise ? opened.then(done, failed) : done(opened)
    } catch (error) {
      return failed(error)
    }
  }

  #sealed(operations: readonly Operation[]): Operation[] {
    try {
      return operations.map((operation) => this.#seal(operation))
    } catch (cause) {
      throw new StorageError('NotTransformed', (cause as Error).message, { cause })
    }
  }

  #seal(operation: Operation): Operation {
    if (operation.type !== 'put') return operation
    const by = this.#encryption.transformers
    const found = by(operation.key)
    if (found === undefined) return operation
    const { transformer } = found
    const parts = transformer.toStorage(operation.value, this.#about(operation.key, found))
    const value = joined(parts)
    const writesWith = transformer.writesWith?.()
    this.#read.set(value, { value: operation.value, isStale: false, by, writesWith })
    return { ...operation, value }
  }

  #sizeOf(key: string, value: Buffer): number {
    const found = this.#encryption.transformers(key)
    return found === undefined
      ? value.length
      : totalBytes(found.transformer.toStorage(value, this.#about(key, found)))
  }

  #about(key: string, { resource }: ResourceTransformer): About {
    return { key: Buffer.from(this.storedKey(key)), resource }
  }
}

const shown = (kv: KeyValue, { value, isStale }: Opened): KeyValue => ({ ...kv, value, isStale })

const totalBytes = (parts: readonly Buffer[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)

/** No pool: values live long and die one by one, and a slice keeps the whole pool alive. */
const joined = (parts: readonly Buffer[]): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(totalBytes(parts))
  let at = 0
  for (const part of parts) at += part.copy(bytes, at)
  return bytes
}
