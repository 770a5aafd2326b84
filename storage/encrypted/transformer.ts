/** How a value is written into a store and read from it (apiserver, pkg/storage/value). */
import { aggregate } from '#go/aggregate.js'

/** What a value belongs to. */
export interface About {
  /** The key in the store. Authenticated ciphers refuse a value that was moved to another key. */
  readonly key: Buffer
  /** As metrics name it: `secrets`, `deployments.apps`. */
  readonly resource: string
}

export interface Opened {
  readonly value: Buffer
  /** Now it would be written by another provider, or with another key. */
  readonly isStale: boolean
}

export interface Transformer {
  /** What is to be stored, in parts. Throws an Error where it cannot be made. */
  toStorage(value: Buffer, about: About): readonly Buffer[]
  /**
   * With which key it writes now, where that changes by itself: what was read with another one may be stale by now. Missing:
   * always with the same.
   */
  writesWith?(): string | undefined
  /** Throws or rejects with an Error where `value` cannot be read. A promise only if a plugin has to be asked. */
  fromStorage(value: Buffer, about: About): Opened | Promise<Opened>
}

export type Direction = 'to_storage' | 'from_storage'

/** Called for each transformation, done or failed, with the prefix of its provider. */
export type Observe = (
  direction: Direction,
  outcome: { prefix: string; resource: string; startedAt: number; error?: unknown },
) => void

export interface Prefixed {
  /** Stored values begin with this; empty for values that are not encrypted. */
  readonly prefix: string
  readonly transformer: Transformer
}

const reservedPrefix = Buffer.from('k8s:enc:')
export const unencryptedProblem = 'identity transformer tried to read encrypted data'

/** Whether a stored value is encrypted: no JSON and no protobuf of Kubernetes begins so. */
export const isEncrypted = (value: Buffer): boolean => beginsWith(value, reservedPrefix)

const beginsWith = (value: Buffer, start: Buffer): boolean =>
  value.length >= start.length && value.compare(start, 0, start.length, 0, start.length) === 0

/** Values as they are. */
export const identity: Transformer = {
  toStorage: (value) => [value],
  fromStorage: (value) => {
    if (isEncrypted(value)) throw new Error(unencryptedProblem)
    return { value, isStale: false }
  },
}

const errorOf = (failures: readonly unknown[]): Error => {
  if (failures.length === 1) return failures[0] as Error
  return new Error(aggregate(failures.map((failure) => (failure as Error).message)))
}

/** Where the reading of one value stands. */
interface Reading {
  readonly value: Buffer
  readonly about: About
  readonly startedAt: number
  /** Errors of the transformers that were tried. */
  readonly failures: readonly unknown[]
}

/**
 * The first one writes. For a read, each one whose prefix fits is tried until one succeeds: two keys may have the same
 * name, and a value may be encrypted although `identity` is listed first.
 */
export class PrefixTransformers implements Transformer {
  readonly #choices: readonly { prefix: string; start: Buffer; transformer: Transformer }[]
  readonly #noMatch: string
  readonly #observe: Observe

  constructor(prefixed: readonly Prefixed[], noMatch: string, observe: Observe) {
    this.#choices = prefixed.map(({ prefix, transformer }) => ({
      prefix,
      start: Buffer.from(prefix),
      transformer,
    }))
    this.#noMatch = noMatch
    this.#observe = observe
  }

  writesWith(): string | undefined {
    return this.#choices[0]!.transformer.writesWith?.()
  }

  toStorage(value: Buffer, about: About): readonly Buffer[] {
    const startedAt = performance.now()
    const { prefix, start, transformer } = this.#choices[0]!
    const note = (error?: unknown): void =>
      this.#observe('to_storage', { prefix, resource: about.resource, startedAt, error })
    try {
      const parts = transformer.toStorage(value, about)
      note()
      return prefix === '' ? parts : [start, ...parts]
    } catch (error) {
      note(error)
      throw error
    }
  }

  fromStorage(value: Buffer, about: About): Opened | Promise<Opened> {
    return this.#readFrom(0, { value, about, startedAt: performance.now(), failures: [] })
  }

  /** Tries the transformers from index `first` on. */
  #readFrom(first: number, reading: Reading): Opened | Promise<Opened> {
    const { value, about, failures } = reading
    const index = this.#choices.findIndex(({ start }, i) => i >= first && beginsWith(value, start))
    const chosen = this.#choices[index]
    if (chosen === undefined) throw this.#refusal(reading)
    const { prefix, start, transformer } = chosen
    const done = (opened: Opened): Opened => {
      this.#note(reading, prefix || 'identity')
      return index === 0 ? opened : { ...opened, isStale: true }
    }
    const failed = (error: unknown): Opened | Promise<Opened> => {
      if (prefix === '') return this.#readFrom(index + 1, reading)
      this.#note(reading, prefix, error)
      return this.#readFrom(index + 1, { ...reading, failures: [...failures, error] })
    }
    let opened: Opened | Promise<Opened>
    try {
      opened = transformer.fromStorage(value.subarray(start.length), about)
    } catch (error) {
      return failed(error)
    }
    return opened instanceof Promise ? opened.then(done, failed) : done(opened)
  }

  #refusal(reading: Reading): Error {
    if (reading.failures.length > 0) return errorOf(reading.failures)
    const error = new Error(this.#noMatch)
    this.#note(reading, 'unknown', error)
    return error
  }

  #note({ about, startedAt }: Reading, prefix: string, error?: unknown): void {
    this.#observe('from_storage', { prefix, resource: about.resource, startedAt, error })
  }
}
