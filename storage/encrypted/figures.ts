/**
 * Metrics of encryption, with upstream's names (apiserver: storage/value, envelope/metrics, encryptionconfig/metrics).
 */
import { createHash } from 'node:crypto'
import { limits } from '#limits'
import {
  exponentialBuckets,
  type MetricFamily,
  MetricHistogram,
  type MetricLabels,
  MetricNumber,
} from '#metrics/metric-family.js'
import type { Direction, Observe } from './transformer.js'

const labelled = { hasLabels: true }
const alone = { hasLabels: false }
const ofKeys = { hasLabels: true, seriesMax: limits.kmsKeysMeasuredMax }
const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1000

/** The gRPC code of a failed transformation, also when the gRPC error is the cause of another one. */
const codeOf = (error: unknown): string => {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && typeof cause.code === 'string' && !cause.code.startsWith('ERR_'))
      return cause.code
  return 'unknown-non-grpc'
}

/** Metrics show hashes of keys and servers, not their names. */
export const hashOf = (text: string): string =>
  text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`

export class EncryptionFigures {
  readonly #now: () => number
  readonly #operations = new MetricNumber(
    'counter',
    'apiserver_storage_transformation_operations_total',
    '[ALPHA] Total number of transformations by resource, direction, transformer and outcome.',
    labelled,
  )
  readonly #durations = new MetricHistogram(
    'apiserver_storage_transformation_duration_seconds',
    '[ALPHA] Latencies in seconds of value transformation operations.',
    { bounds: exponentialBuckets(5e-6, 2, 25), ...labelled },
  )
  readonly #misses = new MetricNumber(
    'counter',
    'apiserver_storage_envelope_transformation_cache_misses_total',
    '[ALPHA] Total number of cache misses while accessing key decryption key(KEK).',
    alone,
  )
  readonly #keyGenerations = new MetricHistogram(
    'apiserver_storage_data_key_generation_duration_seconds',
    '[ALPHA] Latencies in seconds of data encryption key(DEK) generation operations.',
    { bounds: exponentialBuckets(5e-6, 2, 14), ...alone },
  )
  /** Metrics of upstream that never change here: making keys cannot fail, and KMS v1 is not enabled. */
  readonly #constant = [
    new MetricNumber(
      'counter',
      'apiserver_storage_data_key_generation_failures_total',
      '[ALPHA] Total number of failed data encryption key(DEK) generation operations.',
      alone,
    ),
    new MetricNumber(
      'gauge',
      'apiserver_envelope_encryption_dek_cache_fill_percent',
      '[ALPHA] Percent of the cache slots currently occupied by cached DEKs.',
      alone,
    ),
  ]
  readonly #plugin = new MetricHistogram(
    'apiserver_envelope_encryption_kms_operations_latency_seconds',
    '[ALPHA] KMS operation duration with gRPC error code status total.',
    { bounds: exponentialBuckets(0.0001, 2, 20), ...labelled },
  )
  readonly #keys = new MetricNumber(
    'counter',
    'apiserver_envelope_encryption_key_id_hash_total',
    '[ALPHA] Number of times a keyID is used split by transformation type, provider, and apiserver identity.',
    ofKeys,
  )
  readonly #keysUsedAt = new MetricNumber(
    'gauge',
    'apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds',
    '[ALPHA] The last time in seconds when a keyID was used.',
    ofKeys,
  )
  readonly #keysToldAt = new MetricNumber(
    'gauge',
    'apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds',
    '[ALPHA] The last time in seconds when a keyID was returned by the Status RPC call.',
    ofKeys,
  )
  readonly #wrongKeys = new MetricNumber(
    'counter',
    'apiserver_envelope_encryption_invalid_key_id_from_status_total',
    '[ALPHA] Number of times an invalid keyID is returned by the Status RPC call split by error.',
    labelled,
  )
  readonly #seeds = new MetricNumber(
    'gauge',
    'apiserver_envelope_encryption_dek_source_cache_size',
    '[ALPHA] Number of records in data encryption key (DEK) source cache.',
    labelled,
  )
  readonly #reloads = new MetricNumber(
    'counter',
    'apiserver_encryption_config_controller_automatic_reloads_total',
    '[ALPHA] Total number of reload successes and failures of encryption configuration split by apiserver identity.',
    labelled,
  )
  readonly #reloadedAt = new MetricNumber(
    'gauge',
    'apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds',
    '[ALPHA] Timestamp of the last successful or failed automatic reload of encryption configuration split by apiserver identity.',
    labelled,
  )
  #server = { apiserver_id_hash: '' }
  #configurationHash = ''

  /** `now` in ms since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** The name of this server, once it has one. */
  named(server: string): void {
    this.#server = { apiserver_id_hash: hashOf(server) }
  }

  readonly observe: Observe = (direction, { prefix, resource, startedAt, error }) => {
    const labels = { transformation_type: direction, transformer_prefix: prefix }
    const status = error === undefined ? 'OK' : codeOf(error)
    this.#operations.add({ resource, ...labels, status })
    if (error === undefined) this.#durations.observe(labels, secondsSince(startedAt))
  }

  seedMissed(): void {
    this.#misses.add({})
  }

  seedsKept(provider: string, count: number): void {
    this.#seeds.set({ provider_name: provider }, count)
  }

  keyGenerated(startedAt: number): void {
    this.#keyGenerations.observe({}, secondsSince(startedAt))
  }

  pluginAnswered(call: {
    provider: string
    method: string
    code: string
    startedAt: number
  }): void {
    const { provider, method, code, startedAt } = call
    this.#plugin.observe(
      { provider_name: provider, method_name: method, grpc_status_code: code },
      secondsSince(startedAt),
    )
  }

  keyUsed(direction: Direction, provider: string, keyIdHash: string): void {
    const labels = {
      transformation_type: direction,
      provider_name: provider,
      key_id_hash: keyIdHash,
    }
    this.#keys.add(labels)
    this.#keysUsedAt.set(labels, this.#now() / 1000)
  }

  keyTold(provider: string, keyIdHash: string): void {
    const labels = { provider_name: provider, key_id_hash: keyIdHash }
    this.#keysToldAt.set(labels, this.#now() / 1000)
  }

  wrongKeyTold(provider: string, error: string): void {
    this.#wrongKeys.add({ provider_name: provider, error })
  }

  reloaded(status: 'success' | 'failure'): void {
    this.#reloads.add({ status })
    this.#reloadedAt.set({ status }, this.#now() / 1000)
  }

  /** Metrics show a hash of the configuration, never its keys. */
  configured(text: string): void {
    this.#configurationHash = hashOf(text)
  }

  get families(): readonly MetricFamily[] {
    return [
      ...this.#constant,
      this.#operations,
      this.#durations,
      this.#misses,
      this.#keyGenerations,
      this.#plugin,
      this.#wrongKeys,
      this.#seeds,
      ...[this.#keys, this.#keysUsedAt, this.#keysToldAt, this.#reloads, this.#reloadedAt].map(
        (family) => this.#ofServer(family),
      ),
      {
        name: 'apiserver_encryption_config_controller_last_config_info',
        help: '[ALPHA] Information about the last applied encryption configuration with hash as label, split by apiserver identity.',
        type: 'gauge',
        values: () =>
          this.#configurationHash === ''
            ? []
            : [{ labels: { ...this.#server, hash: this.#configurationHash }, value: 1 }],
      },
    ]
  }

  #ofServer(family: MetricFamily): MetricFamily {
    const { name, help, type } = family
    const withServer = (labels: MetricLabels) => ({ ...labels, ...this.#server })
    return {
      name,
      help,
      type,
      values: () =>
        family.values().map(({ labels, value }) => ({ labels: withServer(labels), value })),
    }
  }
}
