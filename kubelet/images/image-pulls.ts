/**
 * Pulls the images of a Pod's containers by their policy, with a back-off after failures. Upstream:
 * pkg/kubelet/images/image_manager.go.
 */
import type { Clock } from '#api/clock.js'
import { ExpiringCache } from '#collections/expiring-cache.js'
import { aggregate } from '#go/aggregate.js'
import { limits } from '#limits'
import type { DataObject } from '../object-reader.js'
import { type BackoffOptions, formatDuration } from '../restart-backoff.js'
import { type ContainerRuntime, StartError } from '../runtime.js'
import { parseImageName } from './image-name.js'
import type { PullRecords, PullSecret } from './pull-records.js'
import { credentialsFor, type ImageCredentials, type Logins } from './registry-credentials.js'

export interface ImagePullDeps {
  readonly runtime: Pick<ContainerRuntime, 'findImage' | 'pullImage'>
  event(type: 'Normal' | 'Warning', reason: string, message: string, containerName?: string): void
}

interface ImagePullsOptions {
  readonly clock: Clock
  readonly backoff: BackoffOptions
  readonly pullRecords: PullRecords
  /** Credentials for all Pods of the node. */
  nodeLogins(): Promise<Logins>
}

/** One image of a container, or of a volume. */
interface ImagePull {
  readonly image: string
  readonly pullPolicy: string | undefined
  /** Undefined for a volume. */
  readonly containerName: string | undefined
  /** The Secrets that the Pod names for registries. */
  readonly secrets: readonly DataObject[]
  readonly signal: AbortSignal
}

interface Failure {
  readonly delayMs: number
  readonly at: number
  readonly why: string
}

/** Pause before an image in back-off is reported again; upstream's backOffPeriod. */
const againMs = 10_000

const fullNameOf = (deps: ImagePullDeps, { image, containerName }: ImagePull): string => {
  const parsed = parseImageName(image)
  if ('image' in parsed) return parsed.image
  const message = `Failed to apply default image tag "${image}": ${parsed.problem}`
  deps.event('Warning', 'InspectFailed', message, containerName)
  throw new StartError('InvalidImageName', message, { told: 'InvalidImageName' })
}

const find = async (deps: ImagePullDeps, { containerName }: ImagePull, image: string) => {
  try {
    return await deps.runtime.findImage(image)
  } catch (error) {
    // Upstream names the image by what it did not get.
    const message = `Failed to inspect image "": ${(error as Error).message}`
    deps.event('Warning', 'InspectFailed', message, containerName)
    throw new StartError('ImageInspectError', message, { told: 'ImageInspectError' })
  }
}

/** Upstream gives what is wrong with them for the reason, too. */
const credentialsOf = (
  image: string,
  secrets: readonly DataObject[],
  ofNode: Logins,
): readonly ImageCredentials[] => {
  try {
    return credentialsFor(image, secrets, ofNode)
  } catch (error) {
    const { message } = error as Error
    throw new StartError(message, message)
  }
}

/** Errors that a runtime names by their first word, with their messages (evalCRIPullErr). */
const namedFailures = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
} as const

const pullFailure = (image: string, message: string): StartError => {
  for (const [reason, why] of Object.entries(namedFailures)) {
    if (!message.startsWith(reason)) continue
    const text = `image pull failed for ${image} because ${why}${message.slice(reason.length)}`
    return new StartError(reason, text, { told: reason })
  }
  return new StartError('ErrImagePull', message, { told: 'ErrImagePull' })
}

interface Pulled {
  readonly id: string
  /** Whose credentials the registry has taken. */
  readonly secret: PullSecret | undefined
}

/** Tries each of the credentials until the registry takes one; without any it is asked as by anybody. */
const pullByAny = async (
  { runtime }: ImagePullDeps,
  {
    image,
    credentials,
    signal,
  }: { image: string; credentials: readonly ImageCredentials[]; signal: AbortSignal },
): Promise<Pulled> => {
  const failures: string[] = []
  for (const one of credentials.length === 0 ? [undefined] : credentials) {
    try {
      return { id: await runtime.pullImage(image, one?.auth, signal), secret: one?.secret }
    } catch (error) {
      failures.push((error as Error).message)
      if (signal.aborted) break
    }
  }
  throw new Error(aggregate(failures))
}

export class ImagePulls {
  readonly #clock: Clock
  readonly #backoff: BackoffOptions
  readonly #records: PullRecords
  readonly #nodeLogins: () => Promise<Logins>
  readonly #failures = new ExpiringCache<Failure>(limits.imageFailuresKept)

  constructor({ clock, backoff, pullRecords, nodeLogins }: ImagePullsOptions) {
    this.#clock = clock
    this.#backoff = backoff
    this.#records = pullRecords
    this.#nodeLogins = nodeLogins
  }

  /** Yields the image's id. Throws StartError, after the Events of the failure have been recorded. */
  async ensure(deps: ImagePullDeps, pull: ImagePull): Promise<string> {
    const { image: asked, pullPolicy, containerName, secrets } = pull
    const image = fullNameOf(deps, pull)
    const found = pullPolicy === 'Always' ? undefined : await find(deps, pull, image)
    const secretsOf = () => credentialsOf(image, secrets, []).map(({ secret }) => secret!)
    if (found && (await this.#records.mayUse({ image: asked, id: found.id }, secretsOf))) {
      const told = `Container image "${asked}" already present on machine and can be accessed by the pod`
      deps.event('Normal', 'Pulled', told, containerName)
      return found.id
    }
    // Whoever may not have an image is not told that it is here.
    if (pullPolicy === 'Never') {
      const message = `Container image "${asked}" is not present with pull policy of Never`
      deps.event('Warning', 'ErrImageNeverPull', message, containerName)
      throw new StartError('ErrImageNeverPull', message, { told: 'ErrImageNeverPull' })
    }
    const credentials = credentialsOf(image, secrets, await this.#nodeLogins())
    this.#holdBack(deps, pull)
    await this.#begin(asked)
    deps.event('Normal', 'Pulling', `Pulling image "${asked}"`, containerName)
    const pulled = await this.#pull(deps, pull, { image, credentials }).catch(async (error) => {
      await this.#records.failed(asked)
      throw error
    })
    await this.#records.succeeded({ image: asked, id: pulled.id }, pulled.secret)
    return pulled.id
  }

  async #pull(
    deps: ImagePullDeps,
    { image: asked, containerName, signal }: ImagePull,
    { image, credentials }: { image: string; credentials: readonly ImageCredentials[] },
  ): Promise<Pulled> {
    const from = this.#clock.now()
    try {
      const pulled = await pullByAny(deps, { image, credentials, signal })
      const took = formatDuration(this.#clock.now() - from)
      const { sizeBytes = 0 } = (await deps.runtime.findImage(image)) ?? {}
      const told = `Successfully pulled image "${asked}" in ${took} (${took} including waiting). Image size: ${sizeBytes} bytes.`
      deps.event('Normal', 'Pulled', told, containerName)
      return pulled
    } catch (error) {
      const { message } = error as Error
      // The pull ended with its Pod, so it is no failure. (Upstream waits for the pull, however long it takes.)
      if (signal.aborted) throw new StartError('ErrImagePull', message)
      deps.event('Warning', 'Failed', `Failed to pull image "${asked}": ${message}`, containerName)
      const failure = pullFailure(asked, message)
      this.#remember(asked, `${failure.reason}: ${failure.message}`)
      throw failure
    }
  }

  async #begin(image: string): Promise<void> {
    try {
      await this.#records.begin(image)
    } catch (error) {
      const reason = `failed to record image pull intent: ${(error as Error).message}`
      const message = `Failed to record image pull intent for container image "${image}": ${reason}`
      throw new StartError(reason, message)
    }
  }
  #holdBack(deps: ImagePullDeps, { image, containerName }: ImagePull): void {
    const now = this.#clock.now()
    const failure = this.#failures.get(image, now)
    const leftMs = failure ? failure.at + failure.delayMs - now : 0
    if (!failure || leftMs <= 0) return
    const message = `Back-off pulling image "${image}"`
    deps.event('Normal', 'BackOff', message, containerName)
    throw new StartError('ImagePullBackOff', `${message}: ${failure.why}`, {
      told: 'ImagePullBackOff',
      retryMs: Math.min(leftMs, againMs),
    })
  }

  #remember(image: string, why: string): void {
    const { initialMs, maxMs } = this.#backoff
    const at = this.#clock.now()
    const last = this.#failures.get(image, at)
    const delayMs = last ? Math.min(maxMs, 2 * last.delayMs) : initialMs
    // It begins anew after a time without failures, whether or not the image was pulled (client-go, flowcontrol).
    this.#failures.set(image, { delayMs, at, why }, at + 2 * maxMs)
  }
}
