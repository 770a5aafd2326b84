/**
 * One version of one object in memory. Only the stored value is held for good, shared with the driver; the JSON with
 * its resourceVersion and the decoded object are made at first use and kept while they are in use: a `WorkingSet`
 * lets go of what was not made recently, so that memory follows the bytes stored and not the objects decoded.
 */
import type { KubeObject } from '#api/object.js'
import { decodeObject, labelsOf, withRevision } from './object-bytes.js'
import type { StoredObject } from './object-storage.js'

/** Keeps what was made last, up to a number of JSON bytes. */
export class WorkingSet {
  readonly #bytesMax: number
  readonly #forget: (version: StoredVersion) => void
  #queue: StoredVersion[] = []
  #first = 0
  #bytes = 0

  constructor(bytesMax: number, forget: (version: StoredVersion) => void) {
    this.#bytesMax = bytesMax
    this.#forget = forget
  }

  add(version: StoredVersion): void {
    this.#queue.push(version)
    this.#bytes += version.size
    while (this.#bytes > this.#bytesMax && this.#first < this.#queue.length - 1) {
      const oldest = this.#queue[this.#first++]!
      this.#bytes -= oldest.size
      this.#forget(oldest)
    }
    if (this.#first > 1024 && this.#first * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first)
      this.#first = 0
    }
  }
}

export interface WorkingSets {
  readonly decoded: WorkingSet
  readonly texts: WorkingSet
}

export const makeWorkingSets = (decodedBytesMax: number, textBytesMax: number): WorkingSets => ({
  decoded: new WorkingSet(decodedBytesMax, (version) => version.forgetObject()),
  texts: new WorkingSet(textBytesMax, (version) => version.forgetJson()),
})

const noLabels: Readonly<Record<string, string>> = {}

export class StoredVersion implements StoredObject {
  readonly key: string
  readonly revision: number
  /** The bytes as the driver holds them, without resourceVersion. */
  readonly value: Buffer
  readonly #sets: WorkingSets
  #object: KubeObject | undefined
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
      this.#sets.decoded.add(this)
    }
    return this.#object
  }

  get labels(): Readonly<Record<string, string>> {
    if (this.#object !== undefined) return this.#object.metadata.labels ?? noLabels
    return labelsOf(this.value) ?? this.object.metadata.labels ?? noLabels
  }

  get json(): Buffer {
    if (this.#json === undefined) {
      this.#json = withRevision(this.value, this.revision)
      this.#sets.texts.add(this)
    }
    return this.#json
  }

  /** Takes over the object that was encoded for this version, which spares decoding it. */
  adopt(object: KubeObject): void {
    if (this.#object !== undefined) return
    object.metadata.resourceVersion = String(this.revision)
    this.#object = object
    this.#sets.decoded.add(this)
  }

  /** The same state under another revision: what a watcher is shown when the object goes. */
  at(revision: number): StoredVersion {
    return new StoredVersion(this.key, this.value, revision, this.#sets)
  }

  forgetObject(): void {
    this.#object = undefined
  }

  forgetJson(): void {
    this.#json = undefined
  }
}
