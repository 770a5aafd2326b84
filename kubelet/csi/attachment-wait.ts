/** How long a Pod has waited for its volumes to be attached to the node. */
import type { NotAttached } from './mount-error.js'

/** Upstream's podAttachAndMountTimeout. */
const timeoutMs = 123_000

export class AttachmentWait {
  #since: number | undefined

  /** What to tell when it has waited long, and each time it has waited as long again. */
  complaint({ volumes }: NotAttached): string | undefined {
    const now = performance.now()
    this.#since ??= now
    if (now - this.#since < timeoutMs) return undefined
    this.#since = now
    const names = `[${volumes.join(' ')}]`
    return `Unable to attach or mount volumes: unmounted volumes=${names}, unattached volumes=${names}, failed to process volumes=[]: context deadline exceeded`
  }

  end(): void {
    this.#since = undefined
  }
}
