/** Values as kube-apiserver encrypts them: what it stored is read, what is written is read again, and what was touched is not. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { packageRoot } from '#program/package-root.js'
import { aesCbc, aesGcm, aesGcmOfSeed } from '#storage/encrypted/aes.js'
import { EncryptionFigures } from '#storage/encrypted/figures.js'
import { KmsProvider } from '#storage/encrypted/kms/kms-provider.js'
import { secretbox } from '#storage/encrypted/secretbox.js'
import { identity, PrefixTransformers, type Transformer } from '#storage/encrypted/transformer.js'
import { temporaryDirectory } from '../level-fixture.js'
import { KmsPlugin } from './kms-plugin.js'

// Timers of stores and plugins keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const recorded: {
  provider: 'aescbc' | 'aesgcm' | 'secretbox' | 'kms'
  key: string
  secret: string
  storedAt: string
  value: string
}[] = JSON.parse(readFileSync(new URL('test/storage/encrypted/recorded.json', packageRoot), 'utf8'))

const ciphers = { aescbc: aesCbc, aesgcm: aesGcm, secretbox }
const secret = Buffer.alloc(32, 7)
const about = (key: string) => ({ key: Buffer.from(key), resource: 'tests' })
const quiet = () => {}

const openPlugin = async (
  t: typeof import('tap').default | import('tap').Test,
  timeoutMs = 60_000,
) => {
  const plugin = new KmsPlugin(path.join(temporaryDirectory(t), 'kms.sock'))
  await plugin.start()
  const provider = new KmsProvider(
    { name: 'plug', path: plugin.endpoint.slice('unix://'.length), timeoutMs },
    { clock: systemClock, figures: new EncryptionFigures(systemClock.now), warn: quiet },
  )
  await provider.start()
  t.teardown(() => {
    provider.close()
    plugin.stop()
  })
  return { plugin, provider }
}

t.test('a plugin may be given weeks for its answers', async (t) => {
  const { provider } = await openPlugin(t, 30 * 86_400_000)
  t.equal(await provider.check(), undefined)
})

t.test('what kube-apiserver stored is read', async (t) => {
  const { provider } = await openPlugin(t)
  for (const { provider: name, key, secret, storedAt, value } of recorded) {
    const inner =
      name === 'kms' ? provider.transformer : ciphers[name](Buffer.from(secret, 'base64'))
    const prefix = name === 'kms' ? `k8s:enc:kms:v2:${key}:` : `k8s:enc:${name}:v1:${key}:`
    const transformer = new PrefixTransformers([{ prefix, transformer: inner }], 'none', quiet)
    const opened = await transformer.fromStorage(Buffer.from(value, 'base64'), about(storedAt))
    t.equal(opened.value.toString('latin1', 0, 4), 'k8s\0', name)
    t.match(opened.value.toString('latin1'), storedAt.split('/').at(-1), name)
    t.equal(opened.isStale, false)
  }
})

const all: Record<string, Transformer> = {
  'AES-CBC': aesCbc(secret),
  'AES-CBC with 16 bytes': aesCbc(secret.subarray(16)),
  'AES-GCM': aesGcm(secret),
  'AES-GCM with 24 bytes': aesGcm(secret.subarray(8)),
  secretbox: secretbox(secret),
  'AES-GCM of a seed': aesGcmOfSeed(secret),
}

t.test('what is written is read again, and never the same bytes twice', async (t) => {
  for (const [name, transformer] of Object.entries(all)) {
    const property = fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (bytes, key) => {
      const value = Buffer.from(bytes)
      const stored = Buffer.concat(transformer.toStorage(value, about(key)))
      const again = Buffer.concat(transformer.toStorage(value, about(key)))
      const opened = transformer.fromStorage(stored, about(key)) as { value: Buffer }
      return opened.value.equals(value) && !stored.equals(again)
    })
    t.doesNotThrow(() => fc.assert(property, { numRuns: 50 }), name)
  }
})

t.test('what was changed, cut off or moved is refused where the cipher can tell', async (t) => {
  const value = Buffer.from('a value of some length')
  for (const [name, transformer] of Object.entries(all)) {
    const stored = Buffer.concat(transformer.toStorage(value, about('/a')))
    for (let at = 0; at < stored.length; at++) {
      const read = (bytes: Buffer) => () => transformer.fromStorage(bytes, about('/a'))
      // CBC authenticates nothing, but has its blocks.
      if (!name.startsWith('AES-CBC')) {
        const changed = Buffer.from(stored)
        changed[at]! ^= 1
        t.throws(read(changed), `${name}, byte ${at}`)
        t.throws(read(stored.subarray(0, at)), `${name}, ${at} bytes`)
      } else if (at % 16 !== 0 || at < 32) t.throws(read(stored.subarray(0, at)), `${name}: ${at}`)
    }
    if (name.startsWith('AES-GCM'))
      t.throws(
        () => transformer.fromStorage(stored, about('/b')),
        { message: 'cipher: message authentication failed' },
        name,
      )
  }
})

t.test(
  'providers are tried in their order, and what the first would not write is stale',
  async (t) => {
    const keyed = (name: string, transformer: Transformer) =>
      new PrefixTransformers([{ prefix: `${name}:`, transformer }], 'no key', quiet)
    const before = aesCbc(Buffer.alloc(32, 1))
    const after = aesCbc(Buffer.alloc(32, 2))
    const cbc = 'k8s:enc:aescbc:v1:'
    const value = Buffer.from('{}')
    const stored = Buffer.concat([Buffer.from(`${cbc}a:`), ...before.toStorage(value, about('/a'))])
    const open = (...transformers: { prefix: string; transformer: Transformer }[]) =>
      new PrefixTransformers(transformers, 'no matching prefix found', quiet).fromStorage(
        stored,
        about('/a'),
      )
    const old = { prefix: cbc, transformer: keyed('a', before) }
    const newer = { prefix: cbc, transformer: keyed('b', after) }
    const plain = { prefix: '', transformer: identity }
    t.same(open(old, plain), { value, isStale: false })
    t.same(open(newer, old), { value, isStale: true })
    t.same(open(plain, old), { value, isStale: true })
    t.throws(() => open(newer), { message: 'no key' })
    t.throws(() => open(newer, plain), { message: 'no key' })
    t.throws(() => open(plain), { message: 'no matching prefix found' })
    t.throws(() => open({ prefix: 'other', transformer: identity }), {
      message: 'no matching prefix found',
    })
  },
)

t.test(
  'a KMS plugin opens a seed once, is asked for a new one with a new key, and its old values are stale',
  async (t) => {
    const { plugin, provider } = await openPlugin(t)
    const { transformer } = provider
    const value = Buffer.from('{"a":1}')
    const write = (key: string) => Buffer.concat(transformer.toStorage(value, about(key)))
    const stored = [write('/a'), write('/b')]
    t.same(plugin.calls, { Status: 1, Encrypt: 1, Decrypt: 0 }, 'one seed serves all values')
    t.same(await transformer.fromStorage(stored[0]!, about('/a')), { value, isStale: false })
    t.equal(plugin.calls.Decrypt, 0, 'who made a seed need not have it opened')

    const later = new KmsProvider(
      { name: 'plug', path: plugin.endpoint.slice('unix://'.length), timeoutMs: 60_000 },
      { clock: systemClock, figures: new EncryptionFigures(systemClock.now), warn: quiet },
    )
    t.teardown(() => later.close())
    await t.rejects(async () => later.transformer.fromStorage(stored[0]!, about('/a')), {
      message: 'got unexpected nil transformer',
    })
    plugin.keyId = 'key-2'
    await later.start()
    const read = await Promise.all(
      stored.map((bytes, i) => later.transformer.fromStorage(bytes, about(i === 0 ? '/a' : '/b'))),
    )
    t.same(read, [
      { value, isStale: true },
      { value, isStale: true },
    ])
    t.equal(plugin.calls.Decrypt, 1)
    const anew = Buffer.concat(later.transformer.toStorage(value, about('/a')))
    t.same(await later.transformer.fromStorage(anew, about('/a')), { value, isStale: false })
  },
)

t.test(
  'a KMS plugin that is not well is told of, and values are encrypted for three minutes more',
  async (t) => {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const plugin = new KmsPlugin(path.join(temporaryDirectory(t), 'kms.sock'))
    await plugin.start()
    t.teardown(() => plugin.stop())
    const open = () => {
      const provider = new KmsProvider(
        { name: 'plug', path: plugin.endpoint.slice('unix://'.length), timeoutMs: 60_000 },
        { clock: { now: () => now }, figures: new EncryptionFigures(() => now), warn: quiet },
      )
      t.teardown(() => provider.close())
      return provider
    }
    const provider = open()
    t.equal(await provider.check(), undefined)
    const write = () => provider.transformer.toStorage(Buffer.from('{}'), about('/a'))
    now += 180_000
    t.doesNotThrow(write)
    now += 1
    t.throws(write, {
      message:
        /^encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at 2026-01-01T00:03:00Z \(current time is 2026-01-01T00:03:00Z\)$/,
    })
    plugin.healthz = 'not today'
    plugin.version = 'v1'
    t.equal(
      await open().check(),
      'kmsv2 Provider plug is not healthy, error: [got unexpected healthz status: not today, expected KMSv2 API version v2, got v1]',
    )
    plugin.healthz = 'ok'
    plugin.version = 'v2beta1'
    plugin.keyId = ''
    t.equal(
      await open().check(),
      'kmsv2 Provider plug is not healthy, error: got invalid KMSv2 KeyID hash "": keyID is empty',
    )
  },
)
