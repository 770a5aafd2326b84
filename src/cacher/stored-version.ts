/**
 * One version of one object in memory. Only the stored value is held for good, shared with the driver; the decoded
 * object is made at first use and kept while it is in use: a `WorkingSet` lets go of what was not made recently, so
 * that memory follows the bytes stored and not the objects decoded.
 */

import { failure } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { copyWith } from '#json/copy-with.js'
import { detectMutation } from './mutation-detector.js'
import {
  decodeObject,
  type Encoded,
  labelsOf,
  placeOfRevision,
  withRevision,
} from './object-bytes.js'
import type { StoredObject } from './object-storage.js'
import type { ObjectText } from './object-text.js'

const keptPart = 0.9

/** Keeps the objects that were decoded last, up to a number of JSON bytes. */
class WorkingSet {
  readonly #bytesMax: number
  /** In the order of their decoding. */
  readonly #held = new Set<StoredVersion>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  add(version: StoredVersion): void {
    if (this.#held.has(version)) return
    this.#held.add(version)
    this.#bytes += version.size
    if (this.#bytes > this.#bytesMax) this.#makeRoom()
  }

  /** No longer counts the object, which itself stays decoded. */
  remove(version: StoredVersion): void {
    if (this.#held.delete(version)) this.#bytes -= version.size
  }

  /** Drops many at once: finding the oldest entry of a Set walks over the slots of removed ones. */
  #makeRoom(): void {
    for (const oldest of this.#held) {
      if (this.#bytes <= this.#bytesMax * keptPart || this.#held.size === 1) break
      this.remove(oldest)
      oldest.forgetObject()
    }
  }
}

export interface WorkingSets {
  readonly current: WorkingSet
  /** Objects that were overwritten. Watchers ask once whether they were selected; nobody asks later. */
  readonly overwritten: WorkingSet
  readonly readForeign: ReadForeign
}

/** Turns a stored value that another server wrote into the JSON that we would store; what it cannot read stays as it is. */
export type ReadForeign = (value: Buffer) => Buffer

export const makeWorkingSets = (
  bytesMax: number,
  readForeign: ReadForeign = (value) => value,
): WorkingSets => ({
  current: new WorkingSet(bytesMax),
  overwritten: new WorkingSet(bytesMax / 8),
  readForeign,
})

const noLabels: Readonly<Record<string, string>> = {}

/** What selections and indexes ask a version for. */
export interface Shown {
  readonly object: KubeObject
  readonly labels: Readonly<Record<string, string>>
}

/** Reads labels from the bytes where possible, so that selectors decode no objects. */
const labelsIn = (value: Buffer, shown: Shown): Readonly<Record<string, string>> =>
  labelsOf(value) ?? shown.object.metadata.labels ?? noLabels

class Passing implements Shown {
  readonly #value: Buffer
  readonly #revision: number

  constructor(value: Buffer, revision: number) {
    this.#value = value
    this.#revision = revision
  }

  get object(): KubeObject {
    return decodeObject(this.#value, this.#revision)
  }

  get labels(): Readonly<Record<string, string>> {
    return labelsIn(this.#value, this)
  }
}

export class StoredVersion implements StoredObject {
  readonly key: string
  readonly revision: number
  /** The bytes as the driver holds them, without resourceVersion. */
  readonly value: Buffer
  readonly isAsCreated: boolean
  readonly #sets: WorkingSets
  #isCurrent = true
  #object: KubeObject | undefined
  #encoded: Encoded | undefined
  #place: number | undefined

  constructor(
    key: string,
    value: Buffer,
    revision: number,
    sets: WorkingSets,
    isAsCreated = false,
  ) {
    this.key = key
    this.value = value
    this.revision = revision
    this.#sets = sets
    this.isAsCreated = isAsCreated
  }

  /** Why the value cannot be read; undefined for all that can. */
  get why(): string | undefined {
    return undefined
  }

  get size(): number {
    return this.value.length
  }

  get object(): KubeObject {
    if (this.#object === undefined) {
      this.#keepObject(this.#read(() => decodeObject(this.value, this.revision)))
    }
    return this.#object!
  }

  /**
   * For a pass over many objects: what is decoded for it is not kept, so that it pushes nothing out of the working set.
   */
  get inPassing(): Shown {
    return this.#object !== undefined ? this : new Passing(this.value, this.revision)
  }

  /** How its object was encoded, as long as that object is kept. */
  get encoded(): Encoded | undefined {
    return this.#encoded
  }

  get labels(): Readonly<Record<string, string>> {
    if (this.#object !== undefined) return this.#object.metadata.labels ?? noLabels
    return labelsIn(this.value, this)
  }

  get text(): ObjectText {
    const place = this.#findPlace()
    if (place >= 0) return withRevision(this.value, this.revision, place)
    return this.#read(() => withRevision(this.value, this.revision, place))
  }

  /** Takes over the object that was encoded for this version, which spares decoding it. */
  adopt({ object, encoded }: { object: KubeObject; encoded: Encoded }): void {
    if (this.#object !== undefined) return
    object.metadata.resourceVersion = String(this.revision)
    this.#encoded = encoded
    this.#keepObject(object)
  }

  /** A newer version took its place, or the object was deleted. */
  overwritten(): void {
    this.#isCurrent = false
    if (this.#object !== undefined) {
      this.#sets.current.remove(this)
      this.#sets.overwritten.add(this)
    }
  }

  /** The same state under another revision, as a DELETED event shows it. What was already decoded is shared. */
  at(revision: number): StoredVersion {
    const last = new StoredVersion(this.key, this.value, revision, this.#sets)
    last.#isCurrent = false
    last.#place = this.#findPlace()
    const object = this.#object
    if (object !== undefined) {
      const metadata = copyWith(object.metadata, { resourceVersion: String(revision) })
      last.#keepObject(copyWith(object, { metadata }))
    }
    return last
  }

  #findPlace(): number {
    this.#place ??= this.#encoded?.revisionAt ?? placeOfRevision(this.value)
    return this.#place
  }

  /** A value that cannot be decoded (somebody else wrote it) is a bare 500, as upstream. */
  #read<T>(decode: () => T): T {
    try {
      return decode()
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      const message = `the stored value of ${this.key} cannot be read: ${why}`
      throw failure({ code: 500, message }, { cause })
    }
  }

  #keepObject(object: KubeObject): void {
    detectMutation(object)
    this.#object = object
    this.#sets[this.#isCurrent ? 'current' : 'overwritten'].add(this)
  }

  forgetObject(): void {
    this.#object = undefined
    this.#encoded = undefined
  }
}
