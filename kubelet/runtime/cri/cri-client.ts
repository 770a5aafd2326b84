/** gRPC to a container runtime's socket. Loaded only with `--container-runtime-endpoint`. */
import {
  type ClientUnaryCall,
  credentials,
  type Client as GrpcClient,
  type GrpcObject,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { grpcText } from '#go/grpc-texts.js'
import { criDescriptor } from './cri-types.js'

/** Timeout of calls; a stop has its grace in addition. */
const callTimeoutMs = 120_000

/** The message is the runtime's own. */
export class CriError extends Error {
  readonly #code: status
  constructor({ code, details, message }: ServiceError) {
    super(details || message)
    this.#code = code
  }
  /** As Go prints it. */
  get goText(): string {
    return grpcText({ code: this.#code, details: this.message })
  }
  /** The same, without the code Unknown. */
  get pullText(): string {
    return this.#code === status.UNKNOWN ? this.message : this.goText
  }
}

type Method = (
  request: object,
  options: { deadline?: number },
  done: (error: ServiceError | null, answer: unknown) => void,
) => ClientUnaryCall

export class CriClient {
  readonly #runtime: GrpcClient
  readonly #images: GrpcClient
  readonly #now: () => number

  constructor(endpoint: string, now: () => number) {
    const loaded = loadPackageDefinition(
      fromJSON(criDescriptor as unknown as Parameters<typeof fromJSON>[0], {
        keepCase: true,
        longs: Number,
        defaults: true,
      }),
    )
    const { v1 } = loaded.runtime as GrpcObject
    const services = v1 as unknown as Record<string, ServiceClientConstructor>
    // A Unix socket has no host name, but containerd requires an authority.
    const options = { 'grpc.default_authority': 'localhost' }
    this.#runtime = new services.RuntimeService!(endpoint, credentials.createInsecure(), options)
    this.#images = new services.ImageService!(endpoint, credentials.createInsecure(), options)
    this.#now = now
  }

  /** Rejects with CriError. */
  call<T>(method: string, request: object = {}, extraMs = 0): Promise<T> {
    return this.#call(this.#runtime, method, request, this.#deadline(extraMs))
  }
  callImages<T>(method: string, request: object): Promise<T> {
    return this.#call(this.#images, method, request, this.#deadline(0))
  }
  /** Without a timeout: the runtime itself gives up an image that makes no progress. */
  pull<T>(request: object, signal: AbortSignal): Promise<T> {
    return this.#call(this.#images, 'PullImage', request, {}, signal)
  }
  close(): void {
    this.#runtime.close()
    this.#images.close()
  }

  #deadline(extraMs: number): { deadline: number } {
    return { deadline: this.#now() + callTimeoutMs + extraMs }
  }

  #call<T>(
    client: GrpcClient,
    method: string,
    request: object,
    options: { deadline?: number },
    signal?: AbortSignal,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (client as unknown as Record<string, Method>)[method]!
      const cancel = () => call.cancel()
      const call = run.call(client, request, options, (error, answer) => {
        signal?.removeEventListener('abort', cancel)
        if (error) reject(new CriError(error))
        else resolve(answer as T)
      })
      signal?.addEventListener('abort', cancel, { once: true })
      if (signal?.aborted) cancel()
    })
  }
}
