/**
 * The images of one Pod's containers: pulled as their policy says, and after a failure not before a back-off is over.
 * Upstream: pkg/kubelet/images/image_manager.go.
 */
import type { Clock } from '#api/clock.js'
import type { ContainerSpec } from './pod.js'
import type { BackoffOptions } from './restart-backoff.js'
import { type ContainerRuntime, StartError } from './runtime.js'

export interface ImagePullDeps {
  readonly runtime: Pick<ContainerRuntime, 'findImage' | 'pullImage'>
  event(type: 'Normal' | 'Warning', reason: string, message: string, containerName: string): void
}

interface Failure {
  readonly delayMs: number
  readonly at: number
  readonly why: string
}

export class ImagePulls {
  readonly #clock: Clock
  readonly #backoff: BackoffOptions
  readonly #failures = new Map<string, Failure>()

  constructor(clock: Clock, backoff: BackoffOptions) {
    this.#clock = clock
    this.#backoff = backoff
  }

  /** Yields the image's id. Throws StartError; what it was about has been told, but for the error itself. */
  async ensure(deps: ImagePullDeps, spec: ContainerSpec, signal: AbortSignal): Promise<string> {
    const { image = '', imagePullPolicy = 'IfNotPresent', name } = spec
    const found = imagePullPolicy === 'Always' ? undefined : await deps.runtime.findImage(image)
    if (found !== undefined) {
      const told = `Container image "${image}" already present on machine and can be accessed by the pod`
      deps.event('Normal', 'Pulled', told, name)
      return found
    }
    if (imagePullPolicy === 'Never') {
      const message = `Container image "${image}" is not present with pull policy of Never`
      deps.event('Warning', 'ErrImageNeverPull', message, name)
      throw new StartError('ErrImageNeverPull', message, { told: 'ErrImageNeverPull' })
    }
    this.#holdBack(deps, spec)
    deps.event('Normal', 'Pulling', `Pulling image "${image}"`, name)
    try {
      const id = await deps.runtime.pullImage(image, signal)
      this.#failures.delete(image)
      deps.event('Normal', 'Pulled', `Successfully pulled image "${image}"`, name)
      return id
    } catch (error) {
      const { message } = error as Error
      // Ended with its Pod: nothing has failed. Upstream waits for it, as long as that may take.
      if (signal.aborted) throw new StartError('ErrImagePull', message)
      deps.event('Warning', 'Failed', `Failed to pull image "${image}": ${message}`, name)
      this.#remember(image, `ErrImagePull: ${message}`)
      throw new StartError('ErrImagePull', message, { told: 'ErrImagePull' })
    }
  }

  #holdBack(deps: ImagePullDeps, { image = '', name }: ContainerSpec): void {
    const failure = this.#failures.get(image)
    const leftMs = failure ? failure.at + failure.delayMs - this.#clock.now() : 0
    if (!failure || leftMs <= 0) return
    const message = `Back-off pulling image "${image}"`
    deps.event('Normal', 'BackOff', message, name)
    throw new StartError('ImagePullBackOff', `${message}: ${failure.why}`, {
      told: 'ImagePullBackOff',
      retryMs: leftMs,
    })
  }

  #remember(image: string, why: string): void {
    const { initialMs, maxMs } = this.#backoff
    const last = this.#failures.get(image)
    const delayMs = last ? Math.min(maxMs, 2 * last.delayMs) : initialMs
    this.#failures.set(image, { delayMs, at: this.#clock.now(), why })
  }
}
