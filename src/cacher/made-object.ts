/** An object that storage does not have in this form: the answer of a dry run, or a stored one as somebody is shown it. */
import type { KubeObject } from '#api/object.js'
import { encodeObject, withRevision } from './object-bytes.js'
import type { StoredObject } from './object-storage.js'
import type { ObjectText } from './object-text.js'

export class MadeObject implements StoredObject {
  readonly key: string
  readonly revision: number
  readonly object: KubeObject
  #text: ObjectText | undefined

  /** `revision` is 0 for what was never written. */
  constructor({ key, revision }: Pick<StoredObject, 'key' | 'revision'>, object: KubeObject) {
    this.key = key
    this.revision = revision
    this.object = object
  }

  get text(): ObjectText {
    if (this.#text === undefined) {
      const { value } = encodeObject(this.object)
      const { resourceVersion = '' } = this.object.metadata
      // What a client sent as the version of an object that is not written is shown as it came.
      this.#text = withRevision(value, this.revision > 0 ? this.revision : resourceVersion)
    }
    return this.#text
  }
}
