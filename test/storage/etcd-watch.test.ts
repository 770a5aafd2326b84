/** A watch of etcd whose events are taken slowly, or not at all: etcd keeps them. */
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { limits } from '#limits'
import { KeySpace } from '#storage/etcd/key-space.js'
import { type CursorHost, WatchCursor } from '#storage/etcd/watch-cursor.js'

const total = 2_000

/** Says that the watch is made, and then each revision by itself as fast as it is read. */
class Events extends Duplex {
  answers = 0

  constructor() {
    super({ objectMode: true })
  }

  override _write(_request: object, _encoding: string, done: () => void): void {
    done()
  }

  override _read(): void {
    if (this.answers > total) return
    const revision = String(this.answers++)
    const key = Buffer.from(`/registry/configmaps/default/${revision}`)
    const kv = { key, value: Buffer.from('{}'), mod_revision: revision, create_revision: revision }
    const isFirst = revision === '0'
    this.push({
      header: { revision },
      created: isFirst,
      canceled: false,
      events: isFirst ? [] : [{ type: 0, kv, prev_kv: null }],
    })
  }

  cancel(): void {
    this.destroy()
  }
}

t.test('what nobody takes is not read, and comes in order when it is taken', async (t) => {
  const stream = new Events()
  const api = { hasOthers: false, watch: async () => ({ stream, progressIsOrdered: true }) }
  const keys = new KeySpace('/registry/', '/registry/')
  const { signal } = new AbortController()
  const cursor = new WatchCursor({ api, keys } as unknown as CursorHost, {
    prefix: '/registry/',
    after: 0,
    signal,
  })
  const batches = cursor.batches()
  const taken: number[] = []
  const take = async (): Promise<void> => {
    const { value } = await batches.next()
    taken.push(value!.revision)
  }
  await take()
  let before: number
  do {
    before = stream.answers
    for (let turn = 0; turn < 10; turn++) await setImmediate()
  } while (stream.answers > before)
  const inStreamMax = 2 * stream.readableHighWaterMark
  t.ok(stream.answers <= limits.etcdBatchesWaitingMax + inStreamMax, `${stream.answers} were read`)
  while (taken.length <= total) await take()
  t.same(
    taken,
    Array.from({ length: total + 1 }, (_, i) => i),
  )
  await batches.return(undefined)
  t.ok(stream.destroyed)
})
