/**
 * Values encrypted with keys that a KMS plugin keeps (apiserver: envelope/kmsv2, encryptionconfig). The plugin encrypts a
 * random seed of ours, and the key of each value is derived from that seed. So the plugin is asked when it has a new key,
 * and to decrypt seeds of other servers and of earlier starts, but not for each value.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { type Clock, formatTime } from '#api/clock.js'
import { Lru } from '#collections/lru.js'
import { aggregate } from '#go/aggregate.js'
import { zeroTime } from '#go/zero-time.js'
import { limits } from '#limits'
import { aesGcm, aesGcmOfSeed, seedBytes } from '../aes.js'
import { type EncryptionFigures, hashOf } from '../figures.js'
import type { Transformer } from '../transformer.js'
import {
  checkEncryptedKey,
  decodeObject,
  type EncryptedKey,
  encodeObject,
  nameOfKey,
  problemOfKeyId,
  seedType,
} from './encrypted-object.js'
import { Plugin, type PluginStatus } from './plugin.js'

interface KmsOptions {
  readonly name: string
  readonly path: string
  readonly timeoutMs: number
}

export interface KmsDeps {
  readonly clock: Clock
  readonly figures: EncryptionFigures
  readonly warn: (message: string, error?: unknown) => void
}

/** What values are encrypted with now. */
interface Seed {
  readonly key: EncryptedKey
  readonly transformer: Transformer
  /** A plugin that fails its checks may have another key after this time. */
  expiresAt: number
}

/** How often a plugin's status is checked, while it is healthy and while it is not; upstream's. */
const probeMs = 60_000
const probeAfterFailureMs = 10_000
/** How long its last status is reused; upstream's. */
const healthyForMs = 20_000
const unhealthyForMs = 3_000

const versions = ['v2', 'v2beta1']
const noSeed = 'got unexpected nil transformer'

export class KmsProvider {
  readonly #options: KmsOptions
  readonly #deps: KmsDeps
  readonly #plugin: Plugin
  readonly #opened = new Lru<Transformer>(limits.kmsSeedsMax)
  readonly #opening = new Map<string, Promise<Transformer>>()
  readonly #closing = new AbortController()
  #seed: Seed | undefined
  /** What its first status said. */
  #version = ''
  #checked: { problem: string | undefined; until: number } | undefined
  #checking: Promise<string | undefined> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: KmsOptions, deps: KmsDeps) {
    this.#options = options
    this.#deps = deps
    this.#plugin = new Plugin({ ...options, figures: deps.figures })
  }

  /** Checks the plugin once, and then again and again. The server starts even if the plugin is not there yet. */
  async start(): Promise<void> {
    const problem = await this.check()
    if (problem !== undefined) this.#tell(problem)
    this.#lookAgain(problem)
  }

  close(): void {
    this.#closing.abort()
    clearTimeout(this.#timer)
    this.#plugin.close()
  }

  /** What is wrong with the plugin, if anything; within `healthyForMs` the last answer. */
  check(): Promise<string | undefined> {
    if (this.#checked !== undefined && performance.now() < this.#checked.until)
      return Promise.resolve(this.#checked.problem)
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  readonly transformer: Transformer = {
    writesWith: () => this.#seed?.key.keyID,
    toStorage: (value, about) => {
      const { key, transformer, expiresAt } = this.#currentSeed()
      const now = this.#deps.clock.now()
      if (now > expiresAt)
        throw new Error(
          `encryptedDEKSource with keyID hash ${JSON.stringify(hashOf(key.keyID))} expired at ${formatTime(expiresAt)} (current time is ${formatTime(now)})`,
        )
      const encryptedData = Buffer.concat(transformer.toStorage(value, about))
      this.#deps.figures.keyUsed('to_storage', this.#options.name, hashOf(key.keyID))
      return [encodeObject({ ...key, encryptedData })]
    },
    fromStorage: (value, about) => {
      const object = decodeObject(value)
      const current = this.#currentSeed().key
      const open = (transformer: Transformer) => {
        this.#deps.figures.keyUsed('from_storage', this.#options.name, hashOf(object.keyID))
        // With a known key it is synchronous.
        const opened = transformer.fromStorage(object.encryptedData, about) as { value: Buffer }
        const isStale =
          object.keyID !== current.keyID ||
          object.encryptedDEKSourceType !== current.encryptedDEKSourceType
        return { value: opened.value, isStale }
      }
      const name = nameOfKey(object)
      const known = this.#opened.get(name)
      return known === undefined ? this.#askFor(name, object).then(open) : open(known)
    },
  }

  #currentSeed(): Seed {
    if (this.#seed === undefined) throw new Error(noSeed)
    return this.#seed
  }

  /** Many values with one seed that come at once decrypt it once. */
  #askFor(name: string, key: EncryptedKey): Promise<Transformer> {
    let opening = this.#opening.get(name)
    if (opening === undefined) {
      opening = this.#openKey(name, key).finally(() => this.#opening.delete(name))
      this.#opening.set(name, opening)
    }
    return opening
  }

  async #openKey(name: string, key: EncryptedKey): Promise<Transformer> {
    this.#deps.figures.seedMissed()
    const secret = await this.#plugin.decrypt(key).catch((cause: Error) => {
      throw new Error(`failed to decrypt DEK, error: ${cause.message}`, { cause })
    })
    const transformer =
      key.encryptedDEKSourceType === seedType ? aesGcmOfSeed(secret) : aesGcm(secret)
    this.#keep(name, transformer)
    return transformer
  }

  #keep(name: string, transformer: Transformer): void {
    this.#opened.set(name, transformer)
    this.#deps.figures.seedsKept(this.#options.name, this.#opened.size)
  }

  async #check(): Promise<string | undefined> {
    const problem = await this.#problem()
    const holdsMs = problem === undefined ? healthyForMs : unhealthyForMs
    this.#checked = { problem, until: performance.now() + holdsMs }
    return problem
  }

  async #problem(): Promise<string | undefined> {
    const { name } = this.#options
    let status: PluginStatus
    try {
      status = await this.#plugin.status()
    } catch (error) {
      const why = (error as Error).message
      return `failed to perform status section of the healthz check for KMS Provider ${name}, error: ${why}`
    }
    const problem = aggregate(await this.#problemsOf(status))
    return problem && `kmsv2 Provider ${name} is not healthy, error: ${problem}`
  }

  async #problemsOf({ healthz, version, key_id: keyId }: PluginStatus): Promise<string[]> {
    const { figures } = this.#deps
    const { name } = this.#options
    const problems: string[] = []
    if (healthz !== 'ok') problems.push(`got unexpected healthz status: ${healthz}`)
    if (!versions.includes(version)) problems.push(`expected KMSv2 API version v2, got ${version}`)
    else {
      this.#version ||= version
      if (version !== this.#version)
        problems.push(
          `KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`,
        )
    }
    const wrong = problemOfKeyId(keyId)
    if (wrong !== undefined) {
      figures.wrongKeyTold(name, wrong.code)
      problems.push(
        `got invalid KMSv2 KeyID hash ${JSON.stringify(hashOf(keyId))}: ${wrong.message}`,
      )
      return problems
    }
    figures.keyTold(name, hashOf(keyId))
    const problem = await this.#follow(keyId)
    return problem === undefined ? problems : [...problems, problem]
  }

  /** Makes a new seed when the plugin has a new key. */
  async #follow(keyId: string): Promise<string | undefined> {
    // Taken before the call, so that it bounds the age of the answer.
    const expiresAt = this.#deps.clock.now() + limits.kmsSeedLifetimeMs
    if (this.#seed?.key.keyID === keyId) {
      this.#seed.expiresAt = expiresAt
      return undefined
    }
    let encryptedBy = ''
    let why = '<nil>'
    try {
      const seed = await this.#makeSeed(expiresAt)
      encryptedBy = seed.key.keyID
      if (encryptedBy === keyId) {
        this.#seed = seed
        this.#keep(nameOfKey(seed.key), seed.transformer)
        return undefined
      }
    } catch (error) {
      why = (error as Error).message
    }
    const quoted = (text: string) => JSON.stringify(hashOf(text))
    const { key, expiresAt: until } = this.#seed ?? {}
    return `failed to rotate DEK uid="${randomUUID()}", useSeed=true, errState=${key === undefined ? noSeed : '<nil>'}, errGen=${why}, statusKeyIDHash=${quoted(keyId)}, encryptKeyIDHash=${quoted(encryptedBy)}, stateKeyIDHash=${quoted(key?.keyID ?? '')}, expirationTimestamp=${until === undefined ? zeroTime : formatTime(until)}`
  }

  async #makeSeed(expiresAt: number): Promise<Seed> {
    const startedAt = performance.now()
    const secret = randomBytes(seedBytes)
    this.#deps.figures.keyGenerated(startedAt)
    const answer = await this.#plugin.encrypt(secret).catch((cause: Error) => {
      throw new Error(`failed to encrypt DEK, error: ${cause.message}`, { cause })
    })
    const key: EncryptedKey = {
      keyID: answer.key_id,
      encryptedDEKSource: answer.ciphertext,
      annotations: answer.annotations,
      encryptedDEKSourceType: seedType,
    }
    checkEncryptedKey(key)
    return { key, transformer: aesGcmOfSeed(secret), expiresAt }
  }

  #tell(problem: string): void {
    this.#deps.warn(`kms plugin ${this.#options.name} failed its health check: ${problem}`)
  }

  #lookAgain(problem: string | undefined): void {
    if (this.#closing.signal.aborted) return
    const ms = problem === undefined ? probeMs : probeAfterFailureMs
    this.#timer = setTimeout(async () => {
      const found = await this.check()
      if (found !== undefined && !this.#closing.signal.aborted) this.#tell(found)
      this.#lookAgain(found)
    }, ms).unref()
  }
}
