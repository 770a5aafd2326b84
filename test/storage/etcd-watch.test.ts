/** A watch of etcd whose events are taken slowly, or not at all: etcd keeps them. */
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { limits } from '#limits'
import { KeySpace } from '#storage/etcd/key-space.js'
import { type CursorHost, WatchCursor } from '#storage/etcd/watch-cursor.js'

const total = 2_000

const cursorOf = (stream: Duplex, hasOthers: boolean) => {
  const opened: Duplex[] = []
  const watch = async () => {
    opened.push(stream)
    return { stream, progressIsOrdered: true }
  }
  const keys = new KeySpace('/registry/', '/registry/')
  const host = { api: { hasOthers, watch }, keys } as unknown as CursorHost
  const { signal } = new AbortController()
  const cursor = new WatchCursor(host, { prefix: '/registry/', after: 0, signal })
  return { cursor, opened }
}

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
  const { cursor } = cursorOf(stream, false)
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

/** Says how far it is when it is asked, and nothing else. */
class Quiet extends Duplex {
  readonly #heads: number[]

  constructor(...heads: number[]) {
    super({ objectMode: true })
    this.#heads = heads
  }

  override _read(): void {}

  override _write(request: object, _encoding: string, done: () => void): void {
    const created = 'create_request' in request
    const revision = String(this.#heads.shift())
    this.push({ header: { revision }, created, canceled: false, events: [] })
    done()
  }

  cancel(): void {
    this.destroy()
  }
}

t.test('a watch that had nothing to tell for long is asked, not broken', async (t) => {
  let late = 0
  const { now } = performance
  t.intercept(performance, 'now', { value: () => now.call(performance) + late })
  const { cursor, opened } = cursorOf(new Quiet(0, 7), true)
  const batches = cursor.batches()
  t.match(await batches.next(), { value: { revision: 0 } })
  const next = batches.next()
  late = 60_000
  cursor.reach(7)
  t.match(await next, { value: { revision: 7 } })
  t.equal(opened.length, 1)
  await batches.return(undefined)
})
