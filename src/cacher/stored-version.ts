/**
 * One version of one object in memory. Only the stored value is held for good, shared with the driver; the JSON with
 * its resourceVersion and the decoded object are made at first use and kept while they are in use: a `WorkingSet`
 * lets go of what was not made recently, so that memory follows the bytes stored and not the objects decoded.
 */
import type { KubeObject } from '#api/object.js'
import {
  type Allocate,
  decodeObject,
  type Encoded,
  labelsOf,
  withRevision,
} from './object-bytes.js'
import type { StoredObject } from './object-storage.js'

const keptPart = 0.9

/** Keeps what was made last, up to a number of JSON bytes. */
class WorkingSet {
  readonly #bytesMax: number
  readonly #forget: (version: StoredVersion) => void
  /** In the order of their making. */
  readonly #held = new Set<StoredVersion>()
  #bytes = 0

  constructor(bytesMax: number, forget: (version: StoredVersion) => void) {
    this.#bytesMax = bytesMax
    this.#forget = forget
  }

  add(version: StoredVersion): void {
    if (this.#held.has(version)) return
    this.#held.add(version)
    this.#bytes += version.size
    if (this.#bytes > this.#bytesMax) this.#makeRoom()
  }

  /** What was made stays; it is not counted here any more. */
  remove(version: StoredVersion): void {
    if (this.#held.delete(version)) this.#bytes -= version.size
  }

  /** More than is needed at once: each look for the oldest passes over the places of those that are gone. */
  #makeRoom(): void {
    for (const oldest of this.#held) {
      if (this.#bytes <= this.#bytesMax * keptPart || this.#held.size === 1) break
      this.remove(oldest)
      this.#forget(oldest)
    }
  }
}

export interface WorkingSets {
  readonly decoded: WorkingSet
  /** Objects that were overwritten: watchers ask whether they were selected, and nobody asks later. */
  readonly overwritten: WorkingSet
  readonly texts: WorkingSet
}

export const makeWorkingSets = (decodedBytesMax: number, textBytesMax: number): WorkingSets => {
  const forgetObject = (version: StoredVersion) => version.forgetObject()
  return {
    decoded: new WorkingSet(decodedBytesMax, forgetObject),
    overwritten: new WorkingSet(decodedBytesMax / 8, forgetObject),
    texts: new WorkingSet(textBytesMax, (version) => version.forgetJson()),
  }
}

const noLabels: Readonly<Record<string, string>> = {}

export class StoredVersion implements StoredObject {
  readonly key: string
  readonly revision: number
  /** The bytes as the driver holds them, without resourceVersion. */
  readonly value: Buffer
  readonly #sets: WorkingSets
  #isCurrent = true
  #object: KubeObject | undefined
  #encoded: Encoded | undefined
  #json: Buffer | undefined

  constructor(key: string, value: Buffer, revision: number, sets: WorkingSets) {
    this.key = key
    this.value = value
    this.revision = revision
    this.#sets = sets
  }

  get size(): number {
    return this.value.length
  }

  get object(): KubeObject {
    if (this.#object === undefined) {
      this.#object = decodeObject(this.value, this.revision)
      this.#keepObject()
    }
    return this.#object
  }

  /** How it was encoded, while the object is kept that was. */
  get encoded(): Encoded | undefined {
    return this.#encoded
  }

  get labels(): Readonly<Record<string, string>> {
    if (this.#object !== undefined) return this.#object.metadata.labels ?? noLabels
    return labelsOf(this.value) ?? this.object.metadata.labels ?? noLabels
  }

  get json(): Buffer {
    if (this.#json === undefined) {
      this.#json = this.#makeJson(Buffer.allocUnsafeSlow)
      this.#sets.texts.add(this)
    }
    return this.#json
  }

  jsonOnce(): Buffer {
    return this.#json ?? this.#makeJson(Buffer.allocUnsafe)
  }

  #makeJson(allocate: Allocate): Buffer {
    return withRevision(this.value, this.revision, { at: this.#encoded?.revisionAt, allocate })
  }

  /** Takes over the object that was encoded for this version, which spares decoding it. */
  adopt({ object, encoded }: { object: KubeObject; encoded: Encoded }): void {
    if (this.#object !== undefined) return
    object.metadata.resourceVersion = String(this.revision)
    this.#object = object
    this.#encoded = encoded
    this.#keepObject()
  }

  /** A newer version took its place, or none. */
  overwritten(): void {
    this.#isCurrent = false
    if (this.#json !== undefined) {
      this.#sets.texts.remove(this)
      this.#json = undefined
    }
    if (this.#object !== undefined) {
      this.#sets.decoded.remove(this)
      this.#sets.overwritten.add(this)
    }
  }

  /** The same state under another revision: what a watcher is shown when the object goes. */
  at(revision: number): StoredVersion {
    return new StoredVersion(this.key, this.value, revision, this.#sets)
  }

  #keepObject(): void {
    this.#sets[this.#isCurrent ? 'decoded' : 'overwritten'].add(this)
  }

  forgetObject(): void {
    this.#object = undefined
    this.#encoded = undefined
  }

  forgetJson(): void {
    this.#json = undefined
  }
}
