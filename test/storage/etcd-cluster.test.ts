/** Three members, of which one or two are killed, stopped or cut off while two servers write and watch. */
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver, StorageEvent } from '#storage/driver.js'
import { openEtcd } from '#storage/etcd/etcd-driver.js'
import { eventually } from '../eventually.js'
import { type EtcdCluster, startEtcdCluster } from './etcd-cluster.js'
import { hasEtcd } from './etcd-fixture.js'
import { put, take } from './suite.js'

let spaces = 0

/** Writes one key after the other until it is told to end; what was acknowledged is written down. A write that hangs holds up no other. */
class Writer {
  readonly acknowledged: [revision: number, key: string][] = []
  /** How many it has begun: the number of the next one. */
  begun = 0
  readonly #driver: StorageDriver
  readonly #name: string
  readonly #running: Promise<void>
  #isOver = false

  constructor(driver: StorageDriver, name: string) {
    this.#driver = driver
    this.#name = name
    this.#running = this.#run()
  }

  /** So many more were acknowledged. */
  async goesOn(count = 40): Promise<void> {
    const wanted = this.acknowledged.length + count
    await eventually(`${wanted} writes of ${this.#name}`, () => this.acknowledged.length >= wanted)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #run(): Promise<void> {
    const writes: Promise<void>[] = []
    while (!this.#isOver) {
      writes.push(this.#write(`/${this.#name}/${this.begun++}`))
      await pause(10)
    }
    await Promise.all(writes)
  }

  async #write(key: string): Promise<void> {
    const result = await this.#driver.txn([], [put(key, 'v')]).catch(() => undefined)
    if (result !== undefined) this.acknowledged.push([result.revision, key])
  }
}

/** Two drivers write and watch while `fault` is played; `fault` sees that they go on where they must. */
const under = async (
  t: Test,
  { servers }: EtcdCluster,
  fault: (writers: readonly Writer[], driver: StorageDriver) => Promise<void>,
) => {
  const prefix = `/space-${spaces++}`
  const drivers: StorageDriver[] = []
  for (let i = 0; i < 2; i++) {
    const driver = await openEtcd({ servers, prefix, root: '/', clock: systemClock })
    t.teardown(() => driver.close())
    drivers.push(driver)
  }
  const start = await drivers[0]!.headRevision()
  const streams: StorageEvent[][] = [[], []]
  const watching = new AbortController()
  for (const [i, driver] of drivers.entries())
    void (async () => {
      const watch = { prefix: '/', after: start, signal: watching.signal }
      for await (const { events } of driver.watch(watch)) streams[i]!.push(...events)
    })()
  const writers = drivers.map((driver, i) => new Writer(driver, `w${i}`))
  await Promise.all(writers.map((writer) => writer.goesOn()))
  await fault(writers, drivers[0]!)
  await Promise.all(writers.map((writer) => writer.goesOn()))
  await Promise.all(writers.map((writer) => writer.end()))
  const { kvs } = await drivers[1]!.range({ prefix: '/' })
  const found = new Map(kvs.map((kv) => [kv.key, kv.modRevision]))
  const acknowledged = writers.flatMap((writer) => writer.acknowledged)
  const lost = acknowledged.filter(([revision, key]) => found.get(key) !== revision)
  t.same(lost, [], `${acknowledged.length} acknowledged writes are there`)
  const history = (await take(drivers[0]!, { prefix: '/', after: start }, kvs.length)).map(
    ({ revision, key }) => `${revision} ${key}`,
  )
  t.equal(history.length, kvs.length)
  for (const [i, stream] of streams.entries()) {
    await eventually(`all of watch ${i}`, () => stream.length >= history.length)
    t.same(
      stream.map(({ revision, key }) => `${revision} ${key}`),
      history,
      `watch ${i}: every change, once, in order`,
    )
  }
  watching.abort()
}

const bothGoOn = (writers: readonly Writer[]) =>
  Promise.all(writers.map((writer) => writer.goesOn()))

if (!hasEtcd) {
  t.test('three members of etcd', { skip: 'no etcd on this machine' }, () => {})
} else {
  const cluster = await startEtcdCluster(t)
  const { members } = cluster

  t.test('the leader is killed: writes go on with the others', (t) =>
    under(t, cluster, async (writers) => {
      const leader = members[await cluster.leader()]!
      await leader.kill()
      await bothGoOn(writers)
      await leader.start()
    }),
  )

  t.test('the leader stands still: writes go on with the others', (t) =>
    under(t, cluster, async (writers) => {
      const leader = members[await cluster.leader()]!
      leader.signal('SIGSTOP')
      await bothGoOn(writers)
      leader.signal('SIGCONT')
    }),
  )

  t.test('the leader is cut off from the others: writes go on with those', (t) =>
    under(t, cluster, async (writers) => {
      cluster.isolate(await cluster.leader())
      await bothGoOn(writers)
      cluster.mend()
    }),
  )

  t.test('two are killed: nothing is acknowledged, the check tells, and all is well again', (t) =>
    under(t, cluster, async (writers, driver) => {
      const leader = await cluster.leader()
      const killed = [members[leader]!, members[(leader + 1) % members.length]!]
      await Promise.all(killed.map((member) => member.kill()))
      // The answer to one that was begun before may still be under way.
      const firsts = writers.map(({ begun }) => begun)
      await eventually('more of them', () => writers.every((w, i) => w.begun > firsts[i]! + 20))
      t.match(await driver.health({ timeoutMs: 1_000 }), /context deadline exceeded|no leader/)
      const acknowledged = writers.flatMap(({ acknowledged }, i) =>
        acknowledged.filter(([, key]) => Number(key.split('/').at(-1)) >= firsts[i]!),
      )
      t.same(acknowledged, [])
      await Promise.all(killed.map((member) => member.start()))
      await bothGoOn(writers)
      t.equal(await driver.health({ timeoutMs: 30_000 }), undefined)
    }),
  )
}
