/** Encryption of what is stored, as its administrator lives with it: switched on, keys rotated, a key lost, a plugin. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { Server } from '#src/index.js'
import { backup, restore, restoredStart, verifyBackup } from '#storage/backup.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../eventually.js'
import { KmsPlugin } from '../storage/encrypted/kms-plugin.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { type Answer, call, openWatch, startServer } from './start-server.js'

// Timers of stores and plugins keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const secrets = '/api/v1/namespaces/default/secrets'
const keyOf = (name: string) => `/registry/secrets/default/${name}`

const key = (name: string) => ({
  name,
  secret: Buffer.alloc(32, name).toString('base64'),
})
const aescbc = (...names: string[]) => ({ aescbc: { keys: names.map(key) } })
const aesgcm = (...names: string[]) => ({ aesgcm: { keys: names.map(key) } })
const identity = { identity: {} }

const configurationOf = (resources: readonly string[], providers: readonly object[]) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources, providers }],
})

/** Appears whole, as files do that others read. */
const writeFor = (resources: string[], file: string, ...providers: object[]): string => {
  writeFileSync(`${file}.new`, JSON.stringify(configurationOf(resources, providers)))
  renameSync(`${file}.new`, file)
  return file
}

const writeConfiguration = (file: string, ...providers: object[]): string =>
  writeFor(['secrets', '*.example.com'], file, ...providers)

const openDriver = async (t: Test, url = 'memory:'): Promise<StorageDriver> => {
  const driver = await openStorage(url, { clock: systemClock })
  t.teardown(() => driver.close())
  return driver
}

const start = (t: Test, storage: StorageDriver, configFile?: string): Promise<Server> =>
  startServer(t, { storage, ...(configFile && { encryption: { configFile } }) })

/** The first server on a store ends before the next one begins. */
const restart = async (t: Test, server: Server, storage: StorageDriver, configFile?: string) => {
  await server.close()
  return start(t, storage, configFile)
}

const stored = async (driver: StorageDriver, name: string): Promise<string> =>
  (await driver.get(keyOf(name))).kv!.value.toString('latin1')

const create = async (server: Server, name: string): Promise<Answer> => {
  const body = { metadata: { name }, stringData: { password: 'nobody-reads-this' } }
  return call(server, { method: 'POST', path: secrets, body })
}

const get = (server: Server, name: string) => call(server, { path: `${secrets}/${name}` })

/** `kubectl get secrets -o json | kubectl replace -f -`. */
const rewriteAll = async (server: Server): Promise<void> => {
  const { items } = (await call(server, { path: secrets })).body
  for (const body of items) {
    const path = `${secrets}/${body.metadata.name}`
    const { status } = await call(server, { method: 'PUT', path, body })
    if (status !== 200) throw new Error(`${path}: ${status}`)
  }
}

for (const scheme of ['memory', 'level'] as const) {
  t.test(`keys are rotated, and the old one is not needed any more (${scheme})`, async (t) => {
    const file = path.join(temporaryDirectory(t), 'encryption.json')
    const driver = await openDriver(
      t,
      scheme === 'memory' ? 'memory:' : `level:${temporaryDirectory(t)}`,
    )
    let server = await start(t, driver)
    await create(server, 'before')
    t.match(await stored(driver, 'before'), /^\{"kind":"Secret"/)

    server = await restart(t, server, driver, writeConfiguration(file, aescbc('key1'), identity))
    await create(server, 'a')
    t.match(await stored(driver, 'a'), /^k8s:enc:aescbc:v1:key1:/)
    t.notMatch(await stored(driver, 'a'), /nobody|Secret|bm9ib2R5/)
    t.equal((await get(server, 'before')).status, 200)
    await rewriteAll(server)
    t.match(await stored(driver, 'before'), /^k8s:enc:aescbc:v1:key1:/)
    const { body: written } = await get(server, 'before')
    await rewriteAll(server)
    const again = (await get(server, 'before')).body.metadata.resourceVersion
    t.equal(again, written.metadata.resourceVersion, 'what is written so already stays')

    writeConfiguration(file, aescbc('key2', 'key1'), identity)
    server = await restart(t, server, driver, file)
    t.match(await stored(driver, 'a'), /^k8s:enc:aescbc:v1:key1:/)
    await rewriteAll(server)
    for (const name of ['a', 'before'])
      t.match(await stored(driver, name), /^k8s:enc:aescbc:v1:key2:/)

    writeConfiguration(file, aesgcm('key3'), aescbc('key2'), identity)
    server = await restart(t, server, driver, file)
    const patch = { method: 'PATCH', path: `${secrets}/a`, body: {} }
    const headers = { 'content-type': 'application/merge-patch+json' }
    t.equal((await call(server, { ...patch, headers })).status, 200)
    t.match(await stored(driver, 'a'), /^k8s:enc:aesgcm:v1:key3:/)
    await rewriteAll(server)

    server = await restart(t, server, driver, writeConfiguration(file, aesgcm('key3')))
    const { status, body } = await call(server, { path: secrets })
    t.equal(status, 200)
    t.same(
      body.items.map((item: { data: unknown }) => item.data),
      [
        { password: Buffer.from('nobody-reads-this').toString('base64') },
        { password: Buffer.from('nobody-reads-this').toString('base64') },
      ],
    )

    const file2 = path.join(temporaryDirectory(t), 'backup')
    const summary = await backup(driver, file2)
    let leaks = 0
    await verifyBackup(file2, ({ value }) => {
      if (/nobody|bm9ib2R5/.test(value.toString('latin1'))) leaks++
    })
    t.equal(leaks, 0, 'a backup is of what is stored')
    const startRevision = restoredStart(summary)
    const target = `level:${temporaryDirectory(t)}`
    const copy = await openStorage(target, { clock: systemClock, startRevision })
    t.teardown(() => copy.close())
    await restore(copy, file2)
    const restored = await start(t, copy, file)
    t.equal((await get(restored, 'a')).body.data.password.length, 24)
  })
}

const message = 'no matching key was found for the provided AES transformer'
const listMessage = `unable to transform key "${keyOf('a')}": ${message}`

t.test('what cannot be decrypted is reported as by kube-apiserver', async (t) => {
  const file = path.join(temporaryDirectory(t), 'encryption.json')
  const driver = await openDriver(t)
  let server = await start(t, driver, writeConfiguration(file, aescbc('key1'), identity))
  await create(server, 'a')
  server = await restart(t, server, driver, writeConfiguration(file, aescbc('key2'), identity))
  t.equal((await create(server, 'b')).status, 201)
  t.equal((await get(server, 'b')).status, 200)
  const ready = await call(server, { path: '/readyz' })
  t.match(ready.text, /\[-\]informer-sync failed/, 'a server that lacks a key gets no requests')
  t.equal((await call(server, { path: '/livez' })).status, 200)

  const one = `${secrets}/a`
  const body = { metadata: { name: 'a' }, stringData: {} }
  const merge = { 'content-type': 'application/merge-patch+json' }
  const refused: Parameters<typeof call>[1][] = [
    { path: one },
    { method: 'DELETE', path: one },
    { method: 'DELETE', path: `${one}?dryRun=All` },
    // The feature gate of this option is off, as upstream's is.
    {
      method: 'DELETE',
      path: `${one}?ignoreStoreReadErrorWithClusterBreakingPotential=true`,
    },
    { method: 'PUT', path: one, body },
    { method: 'PATCH', path: one, headers: merge, body: { metadata: { labels: { a: 'b' } } } },
  ]
  for (const asked of refused) {
    const { status, body } = await call(server, asked)
    t.equal(status, 500, `${asked.method} ${asked.path}`)
    t.same(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `Internal error occurred: ${message}`,
      reason: 'InternalError',
      details: { causes: [{ message }] },
      code: 500,
    })
  }
  for (const asked of [
    { path: `${secrets}?limit=1` },
    { path: `${secrets}?limit=1&resourceVersion=1&resourceVersionMatch=NotOlderThan` },
    { method: 'DELETE', path: secrets },
  ]) {
    const { status, body } = await call(server, asked)
    t.equal(status, 500, asked.path)
    t.equal(body.message, `Internal error occurred: ${listMessage}`)
  }
  for (const path of [
    secrets,
    `${secrets}?resourceVersion=0`,
    `${secrets}?fieldSelector=metadata.name%3Db`,
    `${secrets}?limit=1&labelSelector=a%3Db`,
    '/api/v1/namespaces/kube-system/secrets',
    '/api/v1/secrets?watch=1',
    `${secrets}?watch=1&resourceVersion=1`,
  ]) {
    const { status, body, headers } = await call(server, { path })
    t.equal(status, 429, path)
    t.equal(body.reason, 'TooManyRequests')
    t.equal(
      body.message,
      `storage is (re)initializing: failed to list *core.Secret: ${listMessage}`,
    )
    t.match(headers['retry-after'], /^\d+$/)
  }
  t.equal((await create(server, 'a')).body.reason, 'AlreadyExists')
  const dry = { method: 'POST', path: `${secrets}?dryRun=All`, body }
  t.equal((await call(server, dry)).status, 201, 'a dry run does not see it')
  t.equal((await call(server, { method: 'DELETE', path: `${secrets}/b` })).status, 200)

  server = await restart(t, server, driver)
  t.equal(
    (await get(server, 'a')).body.message,
    'Internal error occurred: identity transformer tried to read encrypted data',
  )
  server = await restart(t, server, driver, writeConfiguration(file, aesgcm('key1')))
  t.equal(
    (await get(server, 'a')).body.message,
    'Internal error occurred: no matching prefix found',
  )
  server = await restart(t, server, driver, writeConfiguration(file, aescbc('key2', 'key1')))
  t.equal((await get(server, 'a')).status, 200)
  t.equal((await call(server, { path: secrets })).body.items.length, 1)
  t.equal((await call(server, { path: '/readyz' })).status, 200)
})

t.test('a watch that comes to what nobody can decrypt ends with that', async (t) => {
  const file = path.join(temporaryDirectory(t), 'encryption.json')
  const driver = await openDriver(t)
  const server = await start(t, driver, writeConfiguration(file, aescbc('key1'), identity))
  const { resourceVersion } = (await create(server, 'a')).body.metadata
  const watch = openWatch(t, server, `${secrets}?watch=1&resourceVersion=${resourceVersion}`)
  await create(server, 'b')
  await watch.lines(1)
  // A server with another key wrote it.
  const value = Buffer.from('k8s:enc:aescbc:v1:key2:0123456789abcdef0123456789abcdef')
  await driver.txn([], [{ type: 'put', key: keyOf('c'), value }])
  await watch.ended
  const events = await watch.lines(2)
  t.same(
    events.map((line) => JSON.parse(line)).map(({ type, object }) => [type, object.code]),
    [
      ['ADDED', undefined],
      ['ERROR', 500],
    ],
  )
  t.equal((await call(server, { path: secrets })).status, 429)
  await driver.txn([], [{ type: 'delete', key: keyOf('c') }])
  await eventually('lists', async () => (await call(server, { path: secrets })).status === 200)
})

t.test('what is judged by objects that cannot be decrypted is not let through', async (t) => {
  const file = path.join(temporaryDirectory(t), 'encryption.json')
  const write = (name: string): string => writeFor(['resourcequotas'], file, aescbc(name))
  const driver = await openDriver(t)
  let server = await start(t, driver, write('key1'))
  const quota = { metadata: { name: 'none' }, spec: { hard: { 'count/secrets': '0' } } }
  const quotas = '/api/v1/namespaces/default/resourcequotas'
  const { body } = await call(server, { method: 'POST', path: quotas, body: quota })
  // What its controller says of it.
  const status = { hard: quota.spec.hard, used: { 'count/secrets': '0' } }
  const counted = { method: 'PUT', path: `${quotas}/none/status`, body: { ...body, status } }
  await call(server, counted)
  server = await restart(t, server, driver, write('key2'))
  t.equal((await create(server, 'a')).status, 429)
  server = await restart(t, server, driver, write('key1'))
  t.equal((await create(server, 'a')).status, 403)
})

t.test(
  'a changed file counts while the server runs: a key that is missing, and one that is back',
  async (t) => {
    const configFile = path.join(temporaryDirectory(t), 'encryption.json')
    writeConfiguration(configFile, aescbc('key1'), identity)
    const driver = await openDriver(t)
    const server = await startServer(t, {
      storage: driver,
      encryption: { configFile, automaticReload: true },
    })
    t.equal((await call(server, { path: '/healthz/kms-providers' })).text, 'ok')
    t.match(
      (await call(server, { path: '/livez?verbose' })).text,
      /\[\+\]poststarthook\/start-encryption-provider-config-automatic-reload ok/,
    )
    await create(server, 'a')
    const metrics = async () => (await call(server, { path: '/metrics' })).text
    const reloads = async (status: string) => {
      const counted = new RegExp(`automatic_reloads_total\\{status="${status}".*\\} (\\d+)`)
      return Number(counted.exec(await metrics())?.[1] ?? 0)
    }
    const reloaded = async (...providers: object[]) => {
      const before = await reloads('success')
      writeConfiguration(configFile, ...providers)
      await eventually('a reload', async () => (await reloads('success')) > before)
    }
    await reloaded(aescbc('key2'))
    t.equal((await get(server, 'a')).body.message, `Internal error occurred: ${message}`)
    await create(server, 'b')
    t.match(await stored(driver, 'b'), /^k8s:enc:aescbc:v1:key2:/)

    const broken = await reloads('failure')
    writeFileSync(configFile, 'resources: wrong')
    await eventually('a failure', async () => (await reloads('failure')) > broken)
    t.equal((await create(server, 'c')).status, 201, 'what counted before still does')
    t.match(await stored(driver, 'c'), /^k8s:enc:aescbc:v1:key2:/)

    await reloaded(aescbc('key2', 'key1'))
    t.equal((await get(server, 'a')).status, 200)
    await rewriteAll(server)
    await reloaded(aescbc('key2'))
    t.equal((await get(server, 'a')).status, 200)
    t.match(
      await metrics(),
      /transformation_operations_total\{resource="secrets",transformation_type="to_storage",transformer_prefix="key2:",status="OK"\} \d/,
    )
  },
)

t.test(
  'a server starts without the key of ConfigMaps, and keeps its own once it has the key',
  async (t) => {
    const file = path.join(temporaryDirectory(t), 'encryption.json')
    const encrypt = (...keys: string[]) => writeFor(['configmaps'], file, aesgcm(...keys))
    const driver = await openDriver(t)
    const first = await start(t, driver, encrypt('key1'))
    await first.close()
    const server = await startServer(t, {
      storage: driver,
      encryption: { configFile: encrypt('key2'), automaticReload: true },
      requestheaderUsernameHeaders: ['X-Other-User'],
    })
    t.equal((await call(server, { path: '/api/v1/configmaps' })).status, 429)
    t.equal((await call(server, { path: '/api/v1/namespaces' })).status, 200)
    t.equal((await call(server, { path: '/livez' })).status, 200)
    t.match((await call(server, { path: '/readyz' })).text, /\[-\]informer-sync failed/)
    encrypt('key2', 'key1')
    const kept = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    await eventually('its headers are published', async () => {
      const { body } = await call(server, { path: kept })
      return body.data?.['requestheader-username-headers'] === '["X-Remote-User","X-Other-User"]'
    })
  },
)

t.test('custom resources are encrypted, and their watchers see them', async (t) => {
  const file = path.join(temporaryDirectory(t), 'encryption.json')
  const driver = await openDriver(t)
  let server = await start(t, driver, writeConfiguration(file, aesgcm('key1'), identity))
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'string' } } } }
  const versions = [{ name: 'v1', served: true, storage: true, schema }]
  await call(server, {
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions,
      },
    },
  })
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'
  const widget = (name: string) => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name },
    spec: 'hidden',
  })
  await eventually(
    'the resource',
    async () => (await call(server, { path: widgets })).status === 200,
  )
  const created = await call(server, { method: 'POST', path: widgets, body: widget('a') })
  const raw = (await driver.get('/registry/example.com/widgets/default/a')).kv!
  t.match(raw.value.toString('latin1'), /^k8s:enc:aesgcm:v1:key1:/)
  server = await restart(t, server, driver, file)
  await eventually(
    'the resource',
    async () => (await call(server, { path: widgets })).status === 200,
  )
  const { resourceVersion } = created.body.metadata
  await call(server, { method: 'POST', path: widgets, body: widget('b') })
  const watch = openWatch(t, server, `${widgets}?watch=1&resourceVersion=${resourceVersion}`)
  const [event] = await watch.lines(1)
  t.equal(JSON.parse(event!).object.spec, 'hidden')
})

t.test(
  'a KMS plugin is reached at a name that is no file',
  { skip: process.platform === 'linux' ? false : 'only Linux has such names' },
  async (t) => {
    const plugin = new KmsPlugin(`@kubelevel-test-${process.pid}`)
    await plugin.start()
    t.teardown(() => plugin.stop())
    const kms = { apiVersion: 'v2', name: 'plug', endpoint: plugin.endpoint, timeout: '1m' }
    const file = path.join(temporaryDirectory(t), 'encryption.json')
    const driver = await openDriver(t)
    const server = await start(t, driver, writeConfiguration(file, { kms }, identity))
    await create(server, 'a')
    t.match(await stored(driver, 'a'), /^k8s:enc:kms:v2:plug:/)
  },
)

t.test(
  'a KMS plugin: its health is the server’s, its new key makes what is stored stale, and without it nothing is read',
  async (t) => {
    const directory = temporaryDirectory(t)
    const plugin = new KmsPlugin(path.join(directory, 'kms.sock'))
    await plugin.start()
    t.teardown(() => plugin.stop())
    const configure = (timeout: string) => {
      const kms = { apiVersion: 'v2', name: 'plug', endpoint: plugin.endpoint, timeout }
      return writeConfiguration(path.join(directory, 'encryption.json'), { kms }, identity)
    }
    const file = configure('1m')
    const driver = await openDriver(t)
    let server = await start(t, driver, file)
    await create(server, 'a')
    t.match(await stored(driver, 'a'), /^k8s:enc:kms:v2:plug:/)
    t.notMatch(await stored(driver, 'a'), /nobody|bm9ib2R5/)
    t.match((await call(server, { path: '/readyz?verbose' })).text, /\[\+\]kms-providers ok/)
    t.notMatch((await call(server, { path: '/livez?verbose' })).text, /kms-providers/)

    plugin.keyId = 'key-2'
    server = await restart(t, server, driver, file)
    const before = await stored(driver, 'a')
    await rewriteAll(server)
    t.not(await stored(driver, 'a'), before)
    const rewritten = await stored(driver, 'a')
    await rewriteAll(server)
    t.equal(await stored(driver, 'a'), rewritten)

    plugin.stop()
    configure('1s')
    server = await restart(t, server, driver, file)
    t.equal((await call(server, { path: '/healthz/kms-providers' })).status, 500)
    const failed = await get(server, 'a')
    t.equal(failed.status, 500)
    t.match(failed.body.message, /^Internal error occurred: got unexpected nil transformer$/)
    const written = await create(server, 'b')
    t.equal(written.body.message, 'Internal error occurred: got unexpected nil transformer')

    await plugin.start()
    await eventually('the plugin', async () => (await get(server, 'a')).status === 200)
    t.equal((await call(server, { path: secrets })).body.items.length, 1)
    rmSync(file)
  },
)

t.test('a file that cannot be used is no start', async (t) => {
  const directory = temporaryDirectory(t)
  const configFile = path.join(directory, 'none.yaml')
  await t.rejects(startServer(t, { encryption: { configFile } }), {
    message: `error while parsing file: error while loading file: error reading encryption provider configuration file "${configFile}": open ${configFile}: no such file or directory`,
  })
})
