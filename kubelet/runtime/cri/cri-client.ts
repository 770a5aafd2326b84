/** gRPC to a container runtime's socket. Loaded only with `--container-runtime-endpoint`. */
import { status } from '@grpc/grpc-js'
import { limits } from '#limits'
import { loadService, RpcClient, type RpcError } from '../../grpc/rpc-client.js'
import type { NodeFeatures, RuntimeHandler } from '../../runtime.js'
import { criFacts } from './cri-types.js'

/** Timeout of calls; a stop has its grace in addition. */
const callTimeoutMs = 120_000

/** What Go prints of an error of a pull: without the code Unknown. */
export const pullText = (error: RpcError): string =>
  error.code === status.UNKNOWN ? error.message : error.goText

interface CriStatus {
  readonly features: { readonly supplemental_groups_policy: boolean } | null
  readonly runtime_handlers: readonly {
    readonly name: string
    readonly features: {
      readonly recursive_read_only_mounts: boolean
      readonly user_namespaces: boolean
    } | null
  }[]
}

interface RuntimeDescription {
  readonly name: string
  readonly version: string
  readonly features: NodeFeatures | undefined
  readonly handlers: readonly RuntimeHandler[]
}

export class CriClient {
  readonly #runtime: RpcClient
  readonly #images: RpcClient

  constructor(endpoint: string) {
    const options = { answerBytesMax: limits.runtimeAnswerBytesMax }
    this.#runtime = new RpcClient(loadService(criFacts, 'RuntimeService'), endpoint, options)
    this.#images = new RpcClient(loadService(criFacts, 'ImageService'), endpoint, options)
  }

  /** Rejects with RpcError. */
  call<T>(method: string, request: object = {}, extraMs = 0): Promise<T> {
    return this.#runtime.call(method, request, { timeoutMs: callTimeoutMs + extraMs })
  }
  /** What the runtime is, and what newer ones say that they can do. */
  async describe(): Promise<RuntimeDescription> {
    const [{ runtime_name: name, runtime_version: version }, status] = await Promise.all([
      this.call<{ runtime_name: string; runtime_version: string }>('Version'),
      this.call<CriStatus>('Status'),
    ])
    const { features, runtime_handlers: handlers } = status
    const supplementalGroupsPolicy = features?.supplemental_groups_policy
    return {
      ...{ name, version },
      features: supplementalGroupsPolicy === undefined ? undefined : { supplementalGroupsPolicy },
      handlers: handlers.map(({ name, features }) => ({
        name,
        features: {
          recursiveReadOnlyMounts: features?.recursive_read_only_mounts === true,
          userNamespaces: features?.user_namespaces === true,
        },
      })),
    }
  }
  stop(containerId: string, graceMs: number): Promise<void> {
    const timeout = Math.min(limits.stopSecondsMax, Math.ceil(graceMs / 1000))
    return this.call('StopContainer', { container_id: containerId, timeout }, timeout * 1000)
  }
  callImages<T>(method: string, request: object): Promise<T> {
    return this.#images.call(method, request, { timeoutMs: callTimeoutMs })
  }
  /** Without a timeout: the runtime itself gives up an image that makes no progress. */
  pull<T>(request: object, signal: AbortSignal): Promise<T> {
    return this.#images.call('PullImage', request, { signal })
  }
  close(): void {
    this.#runtime.close()
    this.#images.close()
  }
}
