/** An object that storage does not have in this form: the answer of a dry run, or a stored one as somebody is shown it. */
import type { KubeObject } from '#api/object.js'
import { encodeObject, withLineEnd, withRevision } from './object-bytes.js'
import type { StoredObject } from './object-storage.js'

export class MadeObject implements StoredObject {
  readonly key: string
  readonly revision: number
  readonly object: KubeObject
  readonly isStale: boolean
  #json: Buffer | undefined

  /** `revision` is 0 for what was never written. */
  constructor(
    { key, revision }: Pick<StoredObject, 'key' | 'revision'>,
    object: KubeObject,
    { isStale = false } = {},
  ) {
    this.key = key
    this.revision = revision
    this.object = object
    this.isStale = isStale
  }

  get json(): Buffer {
    if (this.#json === undefined) {
      const { value } = encodeObject(this.object)
      const { resourceVersion = '' } = this.object.metadata
      // What a client sent as the version of an object that is not written is shown as it came.
      const version = this.revision > 0 ? this.revision : resourceVersion
      this.#json = version === '' ? withLineEnd(value) : withRevision(value, version)
    }
    return this.#json
  }

  jsonOnce(): Buffer {
    return this.json
  }
}
