/** A watch of etcd whose events are taken slowly, or not at all: etcd keeps them. */
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { limits } from '#limits'
import type { StorageEvent } from '#storage/driver.js'
import { type EtcdApi, type EtcdWatch, hasReliableProgress } from '#storage/etcd/api.js'
import { KeySpace } from '#storage/etcd/key-space.js'
import { type CursorHost, WatchCursor } from '#storage/etcd/watch-cursor.js'

const total = 2_000

const keys = new KeySpace('/registry/', '/registry/')

const cursorOf = (stream: Duplex, hasOthers: boolean, more: Partial<EtcdApi> = {}) => {
  const opened: Duplex[] = []
  const watch = async () => {
    opened.push(stream)
    return { stream, progressIsReliable: true }
  }
  const host = { api: { hasOthers, watch, ...more }, keys } as unknown as CursorHost
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

/** Hears requests, and says what a test lets it say. */
class Silent extends Duplex {
  readonly requests: Record<string, object>[] = []

  constructor() {
    super({ objectMode: true })
  }

  override _read(): void {}

  override _write(request: Record<string, object>, _encoding: string, done: () => void): void {
    this.requests.push(request)
    done()
  }

  say(revision: number, more: object = {}): void {
    const events: object[] = []
    this.push({ header: { revision: String(revision) }, created: false, events, ...more })
  }

  cancel(): void {
    this.destroy()
  }
}

const written = (key: Buffer, revision: number, createRevision = revision) => {
  const kv = { key, value: Buffer.from('{}'), mod_revision: String(revision) }
  return { type: 0, kv: { ...kv, create_revision: String(createRevision) }, prev_kv: null }
}
const aKey = Buffer.from('/registry/configmaps/default/a')

t.test('a watch that begins behind asks until it has caught up, and then says so', async (t) => {
  const { cursor } = cursorOf(new Quiet(5, 0, 5), false)
  const batches = cursor.batches()
  t.same(await batches.next(), { value: { revision: 5, events: [] }, done: false })
  await batches.return(undefined)
})

t.test('where progress cannot be relied on, a write of its own moves a watch on', async (t) => {
  const stream = new Silent()
  const watch = async () => ({ stream, progressIsReliable: false }) as unknown as EtcdWatch
  const call = async (_service: unknown, _method: unknown, { key }: { key: Buffer }) =>
    stream.say(6, { events: [written(aKey, 4), written(key, 6, 2)] })
  const { cursor } = cursorOf(stream, false, { watch, call: call as EtcdApi['call'] })
  const batches = cursor.batches()
  stream.say(5, { created: true })
  const { value } = await batches.next()
  t.equal(value!.revision, 6)
  t.same(
    value!.events.map(({ key }: StorageEvent) => key),
    ['/registry/configmaps/default/a'],
    'nobody sees the write',
  )
  t.same(stream.requests.slice(1), [], 'and etcd is not asked')
  await batches.return(undefined)
})

t.test('a watch goes on behind what it told, but not past what is gone', async (t) => {
  const streams = Array.from({ length: 4 }, () => new Silent())
  const [first, second, third, last] = streams as [Silent, Silent, Silent, Silent]
  const left = [...streams]
  const watch = async () => ({ stream: left.shift(), progressIsReliable: true }) as never
  const { cursor } = cursorOf(first, false, { watch })
  const batches = cursor.batches()
  const revisionOfNext = async () => (await batches.next()).value!.revision
  first.say(0, { created: true })
  t.equal(await revisionOfNext(), 0)
  first.say(3, { events: [written(aKey, 3)] })
  t.equal(await revisionOfNext(), 3)
  first.push(null)
  second.say(4, { created: true, canceled: true, compact_revision: '0' })
  third.say(4, { events: [written(aKey, 4)] })
  t.equal(await revisionOfNext(), 4)
  third.destroy(new Error('broken'))
  last.say(9, { canceled: true, compact_revision: '8', cancel_reason: 'gone' })
  await t.rejects(batches.next(), { code: 'Compacted', message: 'gone', revision: 8 })
  t.match(
    streams.map(({ requests }) => requests[0]?.create_request),
    ['1', '4', '4', '5'].map((start_revision) => ({ start_revision })),
  )
  t.ok(streams.every(({ destroyed }) => destroyed))
})

t.test('a change whose value before is gone is no event', async (t) => {
  const stream = new Silent()
  const { cursor } = cursorOf(stream, false)
  const batches = cursor.batches()
  stream.say(0, { created: true })
  await batches.next()
  stream.say(5, { events: [written(aKey, 5, 2)] })
  await t.rejects(batches.next(), { code: 'Compacted', revision: 5 })
})

t.test('progress is relied on where etcd tells it in order and on every watch', async (t) => {
  const versions = [
    '3.3.27',
    '3.4.30',
    '3.4.31',
    '3.5.0-rc.1',
    '3.5.12',
    '3.5.13',
    '3.6.0',
    '4.0.0',
  ]
  t.same(versions.filter(hasReliableProgress), ['3.4.31', '3.5.13', '3.6.0', '4.0.0'])
})
