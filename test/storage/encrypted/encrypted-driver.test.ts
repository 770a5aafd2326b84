/** A driver that encrypts promises what every driver does. */
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { aesGcm } from '#storage/encrypted/aes.js'
import { EncryptedDriver, type Transformers } from '#storage/encrypted/encrypted-driver.js'
import { PrefixTransformers, type Transformer } from '#storage/encrypted/transformer.js'
import { openStorage } from '#storage/open.js'
import { runDriverSuite } from '../suite.js'

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
