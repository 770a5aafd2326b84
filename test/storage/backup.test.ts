import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { backup, restore, restoredStart, verifyBackup } from '#storage/backup.js'
import { openStorage } from '#storage/open.js'
import { runCommand } from '../commands/run-command.js'
import { call, startServer } from '../server/start-server.js'
import { temporaryDirectory } from './level-fixture.js'
import { put, remove, take, write } from './suite.js'

const filled = async (t: Test) => {
  const directory = temporaryDirectory(t)
  const url = `level:${join(directory, 'from')}`
  const driver = await openStorage(url, { clock: systemClock })
  for (let i = 0; i < 1_200; i += 100) {
    const some = Array.from({ length: 100 }, (_, j) =>
      put(`/k${(i + j) % 700}`, `value ${i + j}\n"ü`),
    )
    await write(driver, ...some)
  }
  await write(driver, remove('/k5'), put('/bytes', '\0\u{1F600}'))
  // Names of some objects may have everything in them, so also what ends a line to Node 24.
  await write(driver, put('/a\u2028b\u2029c\rd\ne', 'x'))
  return { directory, url, driver, file: join(directory, 'backup') }
}

const contents = async (url: string, startRevision?: number) => {
  const driver = await openStorage(url, { clock: systemClock, startRevision })
  const { kvs } = await driver.range({ prefix: '' })
  await driver.close()
  return kvs.map((kv) => `${kv.key}=${kv.value.toString('base64')}`)
}

t.test('a backup is one moment of a store that goes on, and comes back elsewhere', async (t) => {
  const { directory, url, driver, file } = await filled(t)
  const before = (await driver.range({ prefix: '' })).kvs.map(
    (kv) => `${kv.key}=${kv.value.toString('base64')}`,
  )
  const summary = await Promise.all([
    backup(driver, file),
    ...Array.from({ length: 50 }, (_, i) => write(driver, put(`/k${i}`, 'later'))),
  ]).then(([first]) => first)
  const old = await driver.headRevision()
  await driver.close()
  t.equal(summary.keys, before.length)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(await verifyBackup(file), summary)
  t.match(await runCommand('verify', file), { code: 0, out: /whole, 701 keys/ })
  const to = `level:${join(directory, 'to')}`
  t.match(await runCommand('restore', file, '--storage', to), { code: 0, out: /701 keys/ })
  t.same(await contents(to), before)
  const restored = await openStorage(to, { clock: systemClock })
  t.ok((await restored.headRevision()) > old, 'no revision that a client saw comes again')
  await t.rejects(take(restored, { prefix: '', after: old }, 1), { code: 'Compacted' })
  await restored.close()
  t.match(await runCommand('restore', file, '--storage', url), { code: 1, out: /not empty/ })
  t.match(await runCommand('backup', file, '--storage', 'memory:'), {
    code: 1,
    out: /in memory only its own server can tell/,
  })
})

t.test('a backup of large objects comes back, whatever one write may hold', async (t) => {
  const { directory, url, driver, file } = await filled(t)
  for (let i = 0; i < 40; i++) await write(driver, put(`/large${i}`, `${i}`.padEnd(200_000)))
  await backup(driver, file)
  await driver.close()
  const to = `level:${join(directory, 'to')}`
  const startRevision = restoredStart(await verifyBackup(file))
  const restored = await openStorage(to, { clock: systemClock, startRevision })
  await restore(restored, file)
  await restored.close()
  t.same(await contents(to, startRevision), await contents(url))
})

t.test('backup from the command line; a store in use is not read behind its back', async (t) => {
  const { directory, url, driver, file } = await filled(t)
  t.match(await runCommand('backup', file, '--storage', url), {
    code: 1,
    out: /in use.*stop it first/,
  })
  await driver.close()
  t.match(await runCommand('backup', file, '--storage', url), {
    code: 0,
    out: /701 keys at revision/,
  })
  t.match(await runCommand('backup', '--storage', url), { code: 2, out: /FILE is missing/ })
  for (const [kubeconfig, out] of [
    [join(directory, 'missing'), /^kubelevel backup: there is no file \S+: start a server .*\n$/],
    [join(directory, 'empty'), /^kubelevel backup: kubeconfig has no context ""\n$/],
  ] as const) {
    writeFileSync(join(directory, 'empty'), '{}')
    const where = ['--data-dir', join(directory, 'none'), '--kubeconfig', kubeconfig]
    t.match(await runCommand('backup', file, ...where), { code: 1, out })
  }
  t.match(await runCommand('verify', `${file}-not`), { code: 1, out: /ENOENT/ })
})

t.test(
  'a backup of nothing is none: no store is made, but the server asked that has none here',
  async (t) => {
    const dataDir = temporaryDirectory(t)
    const file = join(dataDir, 'backup')
    const run = () => runCommand('backup', file, '--data-dir', dataDir)
    t.match(await run(), { code: 1, out: /holds no store/ })
    t.notOk(existsSync(join(dataDir, 'db')))
    t.notOk(existsSync(file))
    await startServer(t, {
      dataDir,
      storage: 'memory:',
      kubeconfigOut: join(dataDir, 'kubeconfig'),
    })
    t.match(await run(), { code: 0, out: /\d{3} keys at revision/ })
  },
)

t.test('backup of a server that goes on: one moment of it, and a new server of that', async (t) => {
  const dataDir = temporaryDirectory(t)
  const kubeconfigOut = join(dataDir, 'kubeconfig')
  const server = await startServer(t, {
    dataDir,
    storage: `level:${join(dataDir, 'db')}`,
    kubeconfigOut,
  })
  const path = '/api/v1/namespaces/default/configmaps'
  const create = (name: string) =>
    call(server, { method: 'POST', path, body: { metadata: { name } } })
  await Promise.all(Array.from({ length: 600 }, (_, i) => create(`before-${i}`)))
  const file = join(dataDir, 'backup')
  let going = true
  const writing = (async () => {
    let count = 0
    while (going) await create(`meanwhile-${count++}`)
    return count
  })()
  const answer = await runCommand('backup', file, '--data-dir', dataDir)
  going = false
  t.match(answer, { code: 0, out: /keys at revision \d+/ })
  t.ok((await writing) > 0)
  const revision = /revision (\d+)/.exec(answer.out)![1]
  const then = `${path}?resourceVersion=${revision}&resourceVersionMatch=Exact`
  const { body: wanted } = await call(server, { path: then })
  t.equal((await call(server, { path: '/kubelevel/backup', token: '' })).status, 403)

  const storage = `level:${join(dataDir, 'restored')}`
  t.match(await runCommand('restore', file, '--storage', storage), { code: 0 })
  const again = await startServer(t, { storage, disableAdmissionPlugins: ['ServiceAccount'] })
  const { body: list } = await call(again, { path })
  // biome-ignore lint/suspicious/noExplicitAny: objects as they come
  const named = (of: any) => of.items.map(({ metadata }: any) => `${metadata.name} ${metadata.uid}`)
  t.same(named(list), named(wanted))
  t.ok(Number(list.metadata.resourceVersion) > Number(revision))
  const old = await call(again, { path: `${path}?watch=1&resourceVersion=${revision}` })
  t.match(old.text, /"code":410/)
})

t.test('a damaged backup is refused before anything is written', async (t) => {
  const { directory, driver, file } = await filled(t)
  const summary = await backup(driver, file)
  await driver.close()
  const bytes = readFileSync(file)
  const damages: [string, Buffer][] = [
    ['cut', bytes.subarray(0, bytes.length >> 1)],
    ['without its end', bytes.subarray(0, bytes.lastIndexOf('\n', bytes.length - 2) + 1)],
    ['with a changed value', Buffer.from(String(bytes).replace('dmFsdWUg', 'dmFsdWUh'))],
    ['with more behind its end', Buffer.from(`${bytes}["/a","MQ=="]\n`)],
    ...['null', '{', '["/a"]', '[1,"MQ=="]'].map((line): [string, Buffer] => [
      `with the line ${line}`,
      Buffer.from(String(bytes).replace('\n', `\n${line}\n`)),
    ]),
    ['of something else', Buffer.from('{}\n')],
  ]
  for (const [name, damaged] of damages) {
    const copy = join(directory, 'damaged')
    writeFileSync(copy, damaged)
    await t.rejects(verifyBackup(copy), { code: 'Corrupt' }, name)
    const empty = await openStorage('memory:', { clock: systemClock })
    await t.rejects(restore(empty, copy), { code: 'Corrupt' })
    t.same((await empty.range({ prefix: '' })).kvs, [])
    await t.rejects(restore(empty, file), { message: /before the backup/ })
    await empty.close()
  }
  t.ok(restoredStart(summary) > summary.revision)
})
