/**
 * Encryption of what is stored, as a file says, which may be read again when it changes (apiserver,
 * pkg/server/options/encryptionconfig and its controller).
 */

import type { Clock } from '#api/clock.js'
import { formatGroupResource, type GroupResource } from '#api/group-version.js'
import type { HealthCheck } from '#api/health-checks.js'
import { sleep } from '#async/sleep.js'
import { aggregate } from '#go/aggregate.js'
import { limits } from '#limits'
import type { Encryption, Transformers } from '#storage/encrypted/encrypted-driver.js'
import type { EncryptionFigures } from '#storage/encrypted/figures.js'
import { followFile } from '../follow-file.js'
import type { StartedParts } from '../started-parts.js'
import { parseEncryption, readEncryptionFile } from './configuration.js'
import { type MadeTransformers, makeTransformers } from './make-transformers.js'

/** Pause before a changed file that could not be used is tried again, and between checks of its plugins. */
const retryMs = 10_000
const readyLookMs = 100

export interface EncryptionOptions {
  /** A file with an EncryptionConfiguration. */
  readonly configFile: string
  /** Whether it is read again when it changes. Default false. */
  readonly automaticReload?: boolean
}

export interface EncryptionDeps {
  readonly resourceOf: (key: string) => GroupResource | undefined
  readonly clock: Clock
  readonly figures: EncryptionFigures
  readonly warn: (message: string, error?: unknown) => void
}

export interface OpenedEncryption extends Encryption {
  /** Health of all plugins together; undefined where there can be none. */
  readonly health: HealthCheck | undefined
  /** Whether the file is followed. */
  readonly automaticReload: boolean
}

const transformersOf =
  (made: MadeTransformers, { resourceOf }: EncryptionDeps): Transformers =>
  (key) => {
    const found = resourceOf(key)
    const transformer = found && made.of(found)
    return transformer && { transformer, resource: formatGroupResource(found) }
  }

const problemOf = async ({ plugins }: MadeTransformers): Promise<string | undefined> => {
  const problems: string[] = []
  for (const [i, plugin] of plugins.entries()) {
    const problem = await plugin.check()
    if (problem !== undefined) problems.push(`kms-provider-${i}: ${problem}`)
  }
  return aggregate(problems)
}

class EncryptionOfFile implements OpenedEncryption {
  readonly health: HealthCheck | undefined
  readonly automaticReload: boolean
  transformers: Transformers
  changes = 0
  readonly #file: string
  readonly #deps: EncryptionDeps
  readonly #closing = new AbortController()
  #made: MadeTransformers
  /** Earlier ones whose calls may still be under way. */
  readonly #former = new Set<MadeTransformers>()
  /** The newest text of the file while it is not in use yet. */
  #wanted: string | undefined
  #taking: Promise<void> | undefined
  #retry = new AbortController()

  constructor(
    { configFile, automaticReload = false }: EncryptionOptions,
    made: MadeTransformers,
    deps: EncryptionDeps,
  ) {
    this.#file = configFile
    this.automaticReload = automaticReload
    this.#deps = deps
    this.#made = made
    this.transformers = transformersOf(made, deps)
    if (automaticReload || made.plugins.length > 0)
      this.health = { name: 'kms-providers', check: () => problemOf(this.#made) }
  }

  /** Retries until the text can be used or the file changes again. */
  take(text: string): void {
    this.#wanted = text
    this.#retry.abort()
    this.#taking ??= this.#takeAll().finally(() => {
      this.#taking = undefined
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#retry.abort()
    await this.#taking
    for (const made of [this.#made, ...this.#former]) made.close()
  }

  async #takeAll(): Promise<void> {
    while (this.#wanted !== undefined && !this.#closing.signal.aborted) {
      const text = this.#wanted
      this.#retry = new AbortController()
      try {
        await this.#replace(text)
        this.#deps.figures.reloaded('success')
        this.#deps.figures.configured(text)
        if (this.#wanted === text) this.#wanted = undefined
      } catch (error) {
        if (this.#closing.signal.aborted) return
        this.#deps.figures.reloaded('failure')
        this.#deps.warn(`error processing encryption config file ${this.#file}`, error)
        await sleep(retryMs, this.#retry.signal)
      }
    }
  }

  async #replace(text: string): Promise<void> {
    const { figures, clock, warn } = this.#deps
    const configuration = parseEncryption({ file: this.#file, text }, true)
    const made = await makeTransformers(configuration, { figures, clock, warn })
    const problem = await this.#problemInTime(made)
    if (problem !== undefined || this.#closing.signal.aborted) {
      made.close()
      throw new Error(`health check for new transformers failed: ${problem}`)
    }
    const former = this.#made
    this.#made = made
    this.transformers = transformersOf(made, this.#deps)
    this.changes++
    this.#former.add(former)
    void sleep(2 * former.callsMs, this.#closing.signal).then(() => {
      this.#former.delete(former)
      former.close()
    })
  }

  async #problemInTime(made: MadeTransformers): Promise<string | undefined> {
    const end = performance.now() + Math.max(limits.kmsReadyMs, 2 * made.callsMs)
    for (;;) {
      const problem = await problemOf(made)
      if (problem === undefined || performance.now() >= end) return problem
      await sleep(readyLookMs, this.#closing.signal)
      if (this.#closing.signal.aborted) return problem
    }
  }
}

/** Rejects with an Error that says what is wrong with the file. */
export const openEncryption = async (
  options: EncryptionOptions,
  deps: EncryptionDeps,
  started: StartedParts,
): Promise<OpenedEncryption> => {
  const { configFile: file, automaticReload: reload = false } = options
  const text = await readEncryptionFile(file)
  const made = await makeTransformers(parseEncryption({ file, text }, reload), deps)
  const encryption = new EncryptionOfFile(options, made, deps)
  deps.figures.configured(text)
  const stopFollowing = reload
    ? followFile({
        file,
        text,
        take: async (changed) => encryption.take(changed),
        warn: (error) => deps.warn('reloading encryption config', error),
      })
    : undefined
  started.defer(async () => {
    await stopFollowing?.()
    await encryption.close()
  })
  return encryption
}
