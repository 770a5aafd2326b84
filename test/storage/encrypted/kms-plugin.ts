/** A KMS plugin on a socket of its own, whose keys, health and answers a test decides. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import {
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { services } from '#storage/encrypted/kms/encrypted-object.js'

type Done = (error: { code: number; details: string } | null, answer?: object) => void
interface Call {
  // biome-ignore lint/suspicious/noExplicitAny: messages of three kinds
  readonly request: any
}

const secretOf = (keyId: string): Buffer => createHash('sha256').update(`of ${keyId}`).digest()

const annotation = 'nonce.example.com'

export class KmsPlugin {
  /** What the plugin says of itself. */
  healthz = 'ok'
  version = 'v2'
  keyId = 'key-1'
  /** Keys that it does not open any more. */
  readonly lost = new Set<string>()
  readonly calls = { Status: 0, Encrypt: 0, Decrypt: 0 }
  readonly #path: string
  #server: Server | undefined

  /** `@name` is no file, but a name in Linux's abstract namespace. */
  constructor(path: string) {
    this.#path = path
  }

  get endpoint(): string {
    return this.#isAbstract ? `unix:///${this.#path}` : `unix://${this.#path}`
  }

  get #isAbstract(): boolean {
    return this.#path.startsWith('@')
  }

  async start(): Promise<void> {
    if (!this.#isAbstract) rmSync(this.#path, { force: true })
    const place = this.#isAbstract ? `\0${this.#path.slice(1)}` : this.#path
    const server = new Server()
    const implementation: UntypedServiceImplementation = {
      Status: (_call: Call, done: Done) => {
        this.calls.Status++
        done(null, { version: this.version, healthz: this.healthz, key_id: this.keyId })
      },
      Encrypt: ({ request }: Call, done: Done) => {
        this.calls.Encrypt++
        const nonce = randomBytes(12)
        const cipher = createCipheriv('aes-256-gcm', secretOf(this.keyId), nonce)
        const text = Buffer.concat([cipher.update(request.plaintext), cipher.final()])
        const ciphertext = Buffer.concat([text, cipher.getAuthTag()])
        done(null, { ciphertext, key_id: this.keyId, annotations: { [annotation]: nonce } })
      },
      Decrypt: ({ request }: Call, done: Done) => {
        this.calls.Decrypt++
        const { ciphertext, key_id: keyId, annotations } = request
        if (this.lost.has(keyId))
          return done({ code: status.FAILED_PRECONDITION, details: `no key ${keyId}` })
        const decipher = createDecipheriv('aes-256-gcm', secretOf(keyId), annotations[annotation])
        decipher.setAuthTag(ciphertext.subarray(-16))
        const plaintext = Buffer.concat([
          decipher.update(ciphertext.subarray(0, -16)),
          decipher.final(),
        ])
        done(null, { plaintext })
      },
    }
    const { service } = services.KeyManagementService as ServiceClientConstructor
    server.addService(service, implementation)
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${place}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      ),
    )
    this.#server = server
  }

  stop(): void {
    this.#server?.forceShutdown()
    this.#server = undefined
  }
}

// Run as a process it is the plugin of whoever names its socket: `kms-plugin.js PATH [KEY]`.
const [, script, path, keyId] = process.argv
if (script?.endsWith('kms-plugin.js') && path !== undefined) {
  const plugin = new KmsPlugin(path)
  if (keyId !== undefined) plugin.keyId = keyId
  await plugin.start()
  process.stdout.write(`${plugin.endpoint}\n`)
  await once(process, 'SIGTERM')
  plugin.stop()
}
