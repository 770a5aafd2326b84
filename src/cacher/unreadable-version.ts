/** A version of an object whose stored value cannot be decrypted. It is known to exist; reading it throws the reason. */
import { type ApiError, internalError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { ObjectText } from './object-text.js'
import { type Shown, StoredVersion, type WorkingSets } from './stored-version.js'

export class UnreadableVersion extends StoredVersion {
  readonly #why: string

  constructor(
    { key, value, revision }: Pick<StoredVersion, 'key' | 'value' | 'revision'>,
    sets: WorkingSets,
    why: string,
  ) {
    super(key, value, revision, sets)
    this.#why = why
  }

  override get why(): string {
    return this.#why
  }

  override get object(): KubeObject {
    throw this.failure()
  }

  override get labels(): Readonly<Record<string, string>> {
    throw this.failure()
  }

  override get text(): ObjectText {
    throw this.failure()
  }

  override get inPassing(): Shown {
    return this
  }

  override at(): StoredVersion {
    return this
  }

  failure(): ApiError {
    return internalError(this.#why)
  }
}
