import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { makeCacher } from '#cacher/cacher.js'
import { EtcdApi, readCall } from '#storage/etcd/api.js'
import { Compactor } from '#storage/etcd/compactor.js'
import { openEtcd } from '#storage/etcd/etcd-driver.js'
import type { RangeResponse } from '#storage/etcd/messages.js'
import { openStorage } from '#storage/open.js'
import { directObjectStorage } from '../cacher/direct-object-storage.js'
import { runObjectStorageCases } from '../cacher/object-storage-cases.js'
import {
  fields,
  type ObjectStorageFixture,
  prefix,
  runObjectStorageSuite,
} from '../cacher/object-storage-suite.js'
import { eventually } from '../eventually.js'
import { type Etcd, hasEtcd, startEtcd } from './etcd-fixture.js'
import { described, put, remove, runDriverSuite, take, write } from './suite.js'

if (!hasEtcd) {
  t.test('the etcd driver', { skip: 'no etcd on this machine' }, () => {})
} else {
  const etcd = await startEtcd(t)
  let spaces = 0
  const openSpace = async (t: Test, keyPrefix: string, writeTimeoutMs?: number) => {
    const driver = await openEtcd({
      servers: etcd.url,
      prefix: keyPrefix,
      root: '/',
      ...(writeTimeoutMs && { writeTimeoutMs }),
      clock: systemClock,
    })
    t.teardown(() => driver.close())
    return driver
  }
  const open = (t: Test) => openSpace(t, `/space-${spaces++}`)

  await runDriverSuite(t, { name: 'etcd', open })
  for (const cached of [true, false]) {
    const fixture: ObjectStorageFixture = {
      name: `${cached ? 'cached' : 'direct'} over etcd`,
      open: async (t) => {
        const driver = await open(t)
        if (!cached) return { driver, pods: directObjectStorage(driver) }
        const cacher = await makeCacher({ driver, clock: systemClock })
        t.teardown(() => cacher.close())
        return { driver, pods: cacher.forResource({ prefix, fields }) }
      },
    }
    await runObjectStorageSuite(t, fixture)
    await runObjectStorageCases(t, fixture)
  }
  await reconnect(t, etcd, open, (t) => openSpace(t, '/hasty', 1_000))
  await replicas(t, openSpace)

  await t.test('what has a lifetime is on a lease and goes', async (t) => {
    const driver = await open(t)
    const start = await driver.headRevision()
    await write(driver, put('/event', 'soon gone', 1), put('/stays', '1'))
    const events = await take(driver, { prefix: '/', after: start }, 3)
    t.match(described(events[2]!), /delete \/event soon gone>-/)
  })

  await t.test('a lease that somebody revoked is asked for anew', async (t) => {
    const driver = await open(t)
    await write(driver, put('/one', '1', 600))
    const api = new EtcdApi(etcd.url, {})
    t.teardown(() => api.close())
    const all = { key: Buffer.from([0]), range_end: Buffer.from([0]) }
    const { kvs } = await api.call<RangeResponse>('KV', 'Range', all, readCall)
    const ID = kvs.find(({ value, lease }) => String(value) === '1' && lease !== '0')!.lease
    const body = JSON.stringify({ ID })
    await fetch(`${etcd.url}/v3/lease/revoke`, { method: 'POST', body })
    t.equal((await driver.get('/one')).kv, undefined)
    await write(driver, put('/two', '2', 600))
    t.equal(String((await driver.get('/two')).kv?.value), '2')
  })

  await t.test('a clock that is set, on or back, ends no call', async (t) => {
    const driver = await open(t)
    const { now } = Date
    for (const hours of [24, -24]) {
      const set = t.intercept(Date, 'now', { value: () => now() + hours * 3_600_000 })
      const revision = await write(driver, put('/a', String(hours)))
      t.equal((await driver.get('/a')).kv?.modRevision, revision)
      t.match(await take(driver, { prefix: '/', after: revision - 1 }, 1), [{ revision }])
      set.restore()
    }
  })

  await t.test('servers compact together, at the revision of the round before', async (t) => {
    const driver = await open(t)
    const one = await write(driver, put('/a', '1'))
    const api = new EtcdApi(etcd.url, {})
    t.teardown(() => api.close())
    const compacted: string[] = []
    const compactors = ['one', 'two'].map((name) => {
      return new Compactor(api, async (revision) => {
        compacted.push(`${name} ${revision > one}`)
        await driver.compact(revision)
      })
    })
    t.teardown(() => {
      for (const compactor of compactors) compactor.stop()
    })
    // Who comes second in a round learns that the other did it.
    const round = async () => {
      for (const compactor of compactors) await compactor.round()
    }
    await round()
    const two = await write(driver, put('/a', '2'))
    t.same(compacted, [], 'history is kept for one interval at least')
    await round()
    await write(driver, put('/a', '3'))
    await round()
    t.ok(compacted.length > 0)
    t.ok(driver.compactedRevision() >= one)
    await t.rejects(driver.range({ prefix: '/', revision: one }), { code: 'Compacted' })
    const { kv } = await driver.get('/a')
    t.equal(String(kv?.value), '3')
    const key = Buffer.from('compact_rev_key')
    const stored = await api.call<RangeResponse>('KV', 'Range', { key }, readCall)
    t.ok(Number(stored.kvs[0]?.value) >= two - 2, 'where upstream looks for it')
  })

  await t.test('an etcd that is not there is Unavailable', async (t) => {
    const nobody = { servers: 'http://127.0.0.1:1', connectTimeoutMs: 500, clock: systemClock }
    await t.rejects(openEtcd(nobody), { code: 'Unavailable', message: /^etcd at http:\/\/127/ })
    await t.rejects(openStorage('etcd:nonsense', { clock: systemClock }), { code: 'Unavailable' })
  })
}

type Open = (t: Test) => ReturnType<typeof openStorage>

async function reconnect(t: Test, etcd: Etcd, open: Open, openHasty: Open) {
  await t.test('etcd killed and started again: watches go on without loss', async (t) => {
    const driver = await open(t)
    const hasty = await openHasty(t)
    const start = await driver.headRevision()
    const seen = take(driver, { prefix: '/', after: start }, 4)
    const one = await write(driver, put('/a', '1'))
    await etcd.kill()
    const refused = await hasty.txn([], [put('/lost', '1')]).catch((error) => error)
    t.match(refused.code, /Unavailable|UnknownOutcome/)
    t.match(await driver.health({ timeoutMs: 1_000 }), /etcd/)
    await etcd.start()
    const two = await eventually('a write', () => write(driver, put('/a', '2')).catch(() => false))
    const three = await write(driver, remove('/a'), put('/b', '1'))
    t.same((await seen).map(described), [
      `${one} put /a ->1`,
      `${two} put /a 1>2`,
      `${three} delete /a 2>-`,
      `${three} put /b ->1`,
    ])
    t.equal(await driver.health({ timeoutMs: 30_000 }), undefined)
  })
}

async function replicas(
  t: Test,
  openSpace: (t: Test, keyPrefix: string) => ReturnType<typeof openStorage>,
) {
  await t.test('a write through one replica is read through the other at once', async (t) => {
    const start = async () => {
      const driver = await openSpace(t, '/replicas')
      const cacher = await makeCacher({ driver, clock: systemClock })
      t.teardown(() => cacher.close())
      return { driver, storage: cacher.forResource({ prefix: '/registry/configmaps/' }) }
    }
    const [a, b] = [await start(), await start()]
    const key = '/registry/configmaps/d/x'
    const object = (n: number) => ({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'x', namespace: 'd', uid: 'u' },
      data: { n: String(n) },
    })
    let stored = await a.storage.create(key, object(0))
    for (let n = 1; n <= 40; n++) {
      const [writer, reader] = n % 2 ? [a, b] : [b, a]
      const found = await writer.storage.get(key, { kind: 'consistent' })
      t.equal(found!.revision, stored.revision)
      stored = await writer.storage.update(found!, object(n))
      const read = await reader.storage.get(key, { kind: 'consistent' })
      t.equal(String(read!.text), String(stored.text))
    }
    // Revisions that are no event of ours must not hold a consistent read up.
    await write(a.driver, put('/elsewhere', '1'))
    const list = await b.storage.list({
      selection: { prefix: '/registry/configmaps/' },
      consistency: { kind: 'consistent' },
      limit: 0,
    })
    t.ok(list.revision >= stored.revision)
  })
}
