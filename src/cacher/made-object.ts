/** An object that is not stored in this form: the answer of a dry run, or a stored object as it is shown to a client. */
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
      // The answer of a dry run shows the resourceVersion that the client sent.
      this.#text = withRevision(value, this.revision > 0 ? this.revision : resourceVersion)
    }
    return this.#text
  }
}
