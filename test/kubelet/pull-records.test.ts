/** Who may have the images that a node has pulled. */
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '#client/log.js'
import { PullRecords, type PullSecret } from '#kubelet/images/pull-records.js'
import type { NodeImage } from '#kubelet/runtime.js'
import { limits } from '#limits'

const image = 'registry.example/team/app:1'
const id = 'sha256:1'
const found = { image, id }
const there: NodeImage[] = [{ id, names: [image], sizeBytes: 7 }]
const secret = (name: string, credentialHash: string): PullSecret => ({
  ...{ uid: `uid-${name}`, namespace: 'default', name, credentialHash },
})

const openRecords = async (rootDir: string, images = there) => {
  const records = new PullRecords({ rootDir, clock: { now: () => 0 }, log: silentLog })
  await records.open(async () => images)
  return records
}
const pull = async (records: PullRecords, by?: PullSecret, as = image) => {
  await records.begin(as)
  await records.succeeded({ image: as, id }, by)
}
const mayUse = (records: PullRecords, ...secrets: PullSecret[]) =>
  records.mayUse(found, () => secrets)
const filesIn = (t: Test, folder: string) =>
  readdirSync(path.join(t.testdirName, 'image_manager', folder))

t.test('what the kubelet did not pull, or pulled as anybody, is for everybody', async (t) => {
  const records = await openRecords(t.testdir())
  t.ok(await mayUse(records))
  await pull(records, secret('s', 'a'))
  t.notOk(await mayUse(records))
  await pull(records)
  t.ok(await mayUse(records))
  await pull(records, secret('s', 'a'))
  t.ok(await mayUse(records), 'for ever')
})

t.test(
  'what a Secret pulled is for Pods with its credentials, in each repository by itself',
  async (t) => {
    const records = await openRecords(t.testdir())
    await pull(records, secret('first', 'a'))
    t.notOk(await mayUse(records))
    t.notOk(await mayUse(records, secret('other', 'b')))
    t.ok(await mayUse(records, secret('other', 'b'), secret('first', 'a')))
    t.ok(
      await records.mayUse({ ...found, image: 'registry.example/team/app' }, () => [
        secret('first', 'a'),
      ]),
    )
    t.notOk(await records.mayUse({ ...found, image: 'app' }, () => [secret('first', 'a')]))
    t.ok(await mayUse(records, secret('copy', 'a')))
    t.ok(
      await mayUse(records, secret('copy', 'changed')),
      'a copy is known by its place from then on',
    )
    t.ok(await mayUse(records, secret('third', 'changed')), 'and by what it was changed to')
  },
)

t.test('a Secret in the place of a known one is not, once many are', async (t) => {
  const records = await openRecords(t.testdir())
  for (let n = 0; n < limits.imagePullSecretsNotedMax; n++)
    await pull(records, secret(`${n}`, `${n}`))
  t.ok(await mayUse(records, secret('0', '0')))
  t.notOk(await mayUse(records, secret('0', 'changed')))
  t.ok(await mayUse(records, secret('copy', '0')))
  t.notOk(await mayUse(records, secret('copy', 'changed')))
})

t.test('the next kubelet knows it, for the images that are still there', async (t) => {
  const root = t.testdir()
  await pull(await openRecords(root), secret('first', 'a'))
  t.same(filesIn(t, 'pulling'), [])
  const [file] = filesIn(t, 'pulled')
  t.equal(statSync(path.join(root, 'image_manager/pulled', file!)).mode & 0o777, 0o600)
  const next = await openRecords(root)
  t.notOk(await mayUse(next))
  t.ok(await mayUse(next, secret('first', 'a')))
  await next.forget([id])
  t.same(filesIn(t, 'pulled'), [])
  await pull(next, secret('first', 'a'))
  await openRecords(root, [])
  t.same(filesIn(t, 'pulled'), [])
})

t.test(
  'what a killed kubelet was pulling, or wrote half, is for nobody until it is pulled',
  async (t) => {
    const root = t.testdir()
    const killed = await openRecords(root, [])
    await killed.begin(image)
    t.notOk(await mayUse(await openRecords(root, [])), 'it may come yet')
    const next = await openRecords(root)
    t.same(filesIn(t, 'pulling'), [])
    t.notOk(await mayUse(next, secret('first', 'a')))
    await pull(next, secret('first', 'a'))
    t.ok(await mayUse(next, secret('first', 'a')))
    const [file] = filesIn(t, 'pulled')
    for (const half of [
      '',
      '{"imageRef":',
      '{"imageRef":"sha256:1","credentialMapping":{"a":{"kubernetesSecrets":[{}]}}}',
    ]) {
      writeFileSync(path.join(root, 'image_manager/pulled', file!), half)
      t.notOk(await mayUse(await openRecords(root), secret('first', 'a')), half)
    }
  },
)

t.test('a kubelet that is not told of the images goes by what was written', async (t) => {
  const root = t.testdir()
  await pull(await openRecords(root), secret('first', 'a'))
  const next = new PullRecords({ rootDir: root, clock: { now: () => 0 }, log: silentLog })
  await next.open(() => Promise.reject(new Error('the runtime is busy')))
  t.notOk(await mayUse(next))
  t.ok(await mayUse(next, secret('first', 'a')))
})

t.test('pulls of one image at once end with the last of them', async (t) => {
  const records = await openRecords(t.testdir(), [])
  await records.begin(image)
  await records.begin(image)
  await records.failed(image)
  t.notOk(await mayUse(records))
  await records.failed(image)
  t.same(filesIn(t, 'pulling'), [])
  t.ok(await mayUse(records))
})
