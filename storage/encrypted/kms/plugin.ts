/** Calls of a KMS plugin on its socket (apiserver, envelope/kmsv2/grpc_service.go). */
import { randomUUID } from 'node:crypto'
import {
  type Client,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { setTimer } from '#async/set-timer.js'
import { goCode, grpcText } from '#go/grpc-texts.js'
import type { EncryptionFigures } from '../figures.js'
import { type EncryptedKey, services } from './encrypted-object.js'

export interface PluginStatus {
  readonly version: string
  readonly healthz: string
  readonly key_id: string
}

interface EncryptAnswer {
  readonly ciphertext: Buffer
  readonly key_id: string
  readonly annotations: EncryptedKey['annotations']
}

interface PluginOptions {
  readonly name: string
  /** The path of its socket; `@name` is an abstract socket of Linux. */
  readonly path: string
  readonly timeoutMs: number
  readonly figures: EncryptionFigures
}

/** An error of gRPC as Go prints it. `code` is Go's name of what it was. */
class PluginError extends Error {
  readonly code: string
  constructor(error: Pick<ServiceError, 'code' | 'details'>) {
    super(grpcText(error), { cause: error })
    this.code = goCode(error.code)
  }
}

type Unary = (
  request: object,
  metadata: Metadata,
  done: (error: ServiceError | null, answer: unknown) => void,
) => ClientUnaryCall

/**
 * A name that is no file begins with a zero. gRPC for Node has no scheme for it, and Node itself pads such a name before
 * Node 24, so that only a plugin in Node is found there.
 */
const targetOf = (path: string): string =>
  `unix:${path.startsWith('@') ? `\0${path.slice(1)}` : path}`

/** Calls wait for a plugin that is not there yet, until their deadline. */
const metadata = new Metadata({ waitForReady: true })

export class Plugin {
  readonly #client: Client
  readonly #options: PluginOptions

  constructor(options: PluginOptions) {
    const { KeyManagementService } = services
    // A Unix socket has no host name, so gRPC needs an authority.
    const channel = { 'grpc.default_authority': 'localhost' }
    this.#options = options
    this.#client = new KeyManagementService(
      targetOf(options.path),
      credentials.createInsecure(),
      channel,
    )
  }

  status(): Promise<PluginStatus> {
    return this.#call('Status', {})
  }

  encrypt(plaintext: Buffer): Promise<EncryptAnswer> {
    return this.#call('Encrypt', { plaintext, uid: randomUUID() })
  }

  async decrypt(key: EncryptedKey): Promise<Buffer> {
    const { encryptedDEKSource: ciphertext, keyID: key_id, annotations } = key
    const request = { ciphertext, uid: randomUUID(), key_id, annotations }
    const { plaintext } = await this.#call<{ plaintext: Buffer }>('Decrypt', request)
    return plaintext
  }

  close(): void {
    this.#client.close()
  }

  #call<T>(method: string, request: object): Promise<T> {
    const { name, timeoutMs, figures } = this.#options
    const startedAt = performance.now()
    return new Promise((resolve, reject) => {
      const unary = (this.#client as unknown as Record<string, Unary>)[method]!
      const call = unary.call(this.#client, request, metadata, (error, answer) => {
        clearTimeout(late)
        const failure = error === null ? undefined : new PluginError(isLate ? deadline : error)
        figures.pluginAnswered({
          provider: name,
          method: `/v2.KeyManagementService/${method}`,
          code: failure?.code ?? 'OK',
          startedAt,
        })
        if (failure === undefined) resolve(answer as T)
        else reject(failure)
      })
      // A timer instead of a gRPC deadline, which goes by the wall clock.
      let isLate = false
      const late = setTimer(() => {
        isLate = true
        call.cancel()
      }, timeoutMs)
    })
  }
}

const deadline = { code: status.DEADLINE_EXCEEDED, details: 'context deadline exceeded' }
