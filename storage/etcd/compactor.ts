/**
 * Compaction as kube-apiserver does it, so that both may share one etcd. Whoever moves `compact_rev_key` forward compacts
 * at the revision of the round before: history is kept for at least one interval, whatever the number of replicas.
 */
import { limits } from '#limits'
import { type EtcdApi, writeCall } from './api.js'
import type { TxnResponse } from './messages.js'

const compactKey = Buffer.from('compact_rev_key')

export class Compactor {
  readonly #api: EtcdApi
  readonly #compact: (revision: number) => Promise<void>
  #version = '0'
  #revision = 0
  readonly #timer: NodeJS.Timeout

  constructor(api: EtcdApi, compact: (revision: number) => Promise<void>) {
    this.#api = api
    this.#compact = compact
    this.#timer = setInterval(() => {
      // Errors are ignored: the next round tries again, and those who need etcd report that it is away.
      this.round().catch(() => {})
    }, limits.watchHistoryMs)
    this.#timer.unref()
  }

  async round(): Promise<void> {
    const put = { key: compactKey, value: Buffer.from(String(this.#revision)) }
    const compare = { result: 0, target: 0, key: compactKey, version: this.#version }
    const request = {
      compare: [compare],
      success: [{ request_put: put }],
      failure: [{ request_range: { key: compactKey } }],
    }
    const { header, succeeded, responses } = await this.#api.call<TxnResponse>(
      'KV',
      'Txn',
      request,
      writeCall,
    )
    const before = this.#revision
    this.#revision = Number(header.revision)
    if (!succeeded) {
      this.#version = responses[0]?.response_range?.kvs[0]?.version ?? '0'
      return
    }
    this.#version = String(Number(this.#version) + 1)
    if (before > 0) await this.#compact(before)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
