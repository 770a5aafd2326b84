/** gRPC to one socket of this host. Loaded only where there is something to call. */
import {
  type ClientUnaryCall,
  credentials,
  type Client as GrpcClient,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { systemClock } from '#api/clock.js'
import { grpcText } from '#go/grpc-texts.js'
import { descriptorOf, type PackageFacts, serviceIn } from './proto-facts.js'

const uncertain: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.UNAVAILABLE,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
])

/** The message is the other side's own. */
export class RpcError extends Error {
  readonly code: status
  constructor({ code, details, message }: ServiceError) {
    super(details || message)
    this.code = code
  }
  /** As Go prints it. */
  get goText(): string {
    return grpcText({ code: this.code, details: this.message })
  }
  /** The other side has done nothing, and will not (isFinalError). After other errors it may have, or may yet. */
  get isFinal(): boolean {
    return !uncertain.has(this.code)
  }
}

const reconnectMs = 1_000

type Method = (
  request: object,
  options: { deadline?: number },
  done: (error: ServiceError | null, answer: unknown) => void,
) => ClientUnaryCall

interface CallOptions {
  /** None: the call may take any time. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Servers of tests register it, too. */
export const loadService = (facts: PackageFacts, service: string): ServiceClientConstructor => {
  const descriptor = descriptorOf(facts) as Parameters<typeof fromJSON>[0]
  const options = { keepCase: true, longs: Number, defaults: true }
  return serviceIn(loadPackageDefinition(fromJSON(descriptor, options)), facts, service)
}

export class RpcClient {
  readonly #client: GrpcClient

  /** `endpoint` as gRPC has it: `unix:///run/socket`. Longer answers than `answerBytesMax` (default: gRPC's 4 MiB) are errors. */
  constructor(
    Service: ServiceClientConstructor,
    endpoint: string,
    { answerBytesMax }: { readonly answerBytesMax?: number } = {},
  ) {
    const options = {
      ...(answerBytesMax === undefined
        ? {}
        : { 'grpc.max_receive_message_length': answerBytesMax }),
      // A Unix socket has no host name, but servers in Go require an authority.
      'grpc.default_authority': 'localhost',
      // Upstream dials for each call: who comes back on its socket is called at once, and not in two minutes.
      'grpc.max_reconnect_backoff_ms': reconnectMs,
    }
    this.#client = new Service(endpoint, credentials.createInsecure(), options)
  }

  /** Rejects with RpcError. */
  call<T>(method: string, request: object, { timeoutMs, signal }: CallOptions): Promise<T> {
    const client = this.#client
    return new Promise((resolve, reject) => {
      const run = (client as unknown as Record<string, Method>)[method]!
      const cancel = () => call.cancel()
      // gRPC asks the system what time it is, whatever tests make of the kubelet's clock.
      const options = timeoutMs === undefined ? {} : { deadline: systemClock.now() + timeoutMs }
      const call = run.call(client, request, options, (error, answer) => {
        signal?.removeEventListener('abort', cancel)
        if (error) reject(new RpcError(error))
        else resolve(answer as T)
      })
      signal?.addEventListener('abort', cancel, { once: true })
      if (signal?.aborted) cancel()
    })
  }

  close(): void {
    this.#client.close()
  }
}
