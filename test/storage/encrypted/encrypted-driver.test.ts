/** A driver that encrypts promises what every driver does. */
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import { aesGcm } from '#storage/encrypted/aes.js'
import { EncryptedDriver, type Transformers } from '#storage/encrypted/encrypted-driver.js'
import { EncryptionFigures } from '#storage/encrypted/figures.js'
import { KmsProvider } from '#storage/encrypted/kms/kms-provider.js'
import { PrefixTransformers, type Transformer } from '#storage/encrypted/transformer.js'
import { openStorage } from '#storage/open.js'
import { temporaryDirectory } from '../level-fixture.js'
import { put, remove, runDriverSuite, write } from '../suite.js'
import { KmsPlugin } from './kms-plugin.js'

// A store's own timer keeps no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const prefixed = { prefix: 'k8s:enc:aesgcm:v1:', transformer: aesGcm(Buffer.alloc(32, 7)) }
const quick = new PrefixTransformers([prefixed], 'no matching prefix found', () => {})

/** As where a plugin has to be asked for each key. */
const slow: Transformer = {
  toStorage: (value, about) => quick.toStorage(value, about),
  fromStorage: async (value, about) => {
    await setTimeout(value.length % 3)
    return quick.fromStorage(value, about)
  },
}

/** Each look at it is as after a change of keys: nothing that was read before is known. */
const ofTransformer = (transformer: Transformer) => ({
  get transformers(): Transformers {
    return () => ({ transformer, resource: 'tests' })
  },
  changes: 0,
})

const openWith = async (t: Test, transformer: Transformer) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  return new EncryptedDriver(driver, ofTransformer(transformer))
}

await runDriverSuite(t, { name: 'encrypted memory', open: (t) => openWith(t, quick) })
await runDriverSuite(t, { name: 'slowly opened memory', open: (t) => openWith(t, slow) })

t.test('what nothing encrypts is stored as it is, beside what something does', async (t) => {
  const memory = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => memory.close())
  const transformers: Transformers = (key) =>
    key.startsWith('/secrets/') ? { transformer: quick, resource: 'secrets' } : undefined
  const driver = new EncryptedDriver(memory, { transformers, changes: 0 })
  await write(driver, put('/secrets/a', '1'), put('/maps/a', '2'), remove('/maps/b'))
  const valuesIn = async (one: StorageDriver) =>
    (await one.range({ prefix: '/' })).kvs.map(({ value }) => String(value))
  t.same(await valuesIn(driver), ['2', '1'])
  const [map, secret] = await valuesIn(memory)
  t.equal(map, '2')
  t.match(secret, /^k8s:enc:aesgcm:v1:/)
})

t.test('how large a value will be is known before it is stored', async (t) => {
  const memory = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => memory.close())
  const driver = new EncryptedDriver(memory, ofTransformer(quick))
  const value = Buffer.alloc(1000, 'a')
  await driver.txn([], [{ type: 'put', key: 'k', value }])
  const { kv } = await memory.get('k')
  t.equal(driver.encryption.sizeOf('k', value), kv?.value.length)
  t.ok(kv!.value.length > value.length)
})

t.test('what was written and read before is stale once a KMS plugin has a new key', async (t) => {
  const memory = await openStorage('memory:', { clock: systemClock })
  const plugin = new KmsPlugin(path.join(temporaryDirectory(t), 'kms.sock'))
  await plugin.start()
  const provider = new KmsProvider(
    { name: 'plug', path: plugin.endpoint.slice('unix://'.length), timeoutMs: 60_000 },
    { clock: systemClock, figures: new EncryptionFigures(systemClock.now), warn: () => {} },
  )
  const now = performance.now.bind(performance)
  t.teardown(async () => {
    performance.now = now
    provider.close()
    plugin.stop()
    await memory.close()
  })
  t.equal(await provider.check(), undefined)
  const prefix = 'k8s:enc:kms:v2:plug:'
  const transformer = new PrefixTransformers(
    [{ prefix, transformer: provider.transformer }],
    'no matching prefix found',
    () => {},
  )
  const transformers: Transformers = () => ({ transformer, resource: 'tests' })
  const driver = new EncryptedDriver(memory, { transformers, changes: 0 })
  const isStale = async (key: string) => (await driver.get(key)).kv?.isStale
  await write(driver, put('/written', '1'), put('/read', '1'))
  t.equal(await isStale('/read'), false)
  plugin.keyId = 'key-2'
  // Its last answer counts for a while.
  performance.now = () => now() + 60_000
  t.equal(await provider.check(), undefined)
  t.same([await isStale('/written'), await isStale('/read')], [true, true])
  await write(driver, put('/written', '1'))
  t.same([await isStale('/written'), await isStale('/read')], [false, true])
})
