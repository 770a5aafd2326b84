import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { issueCertificate } from '#net/x509.js'
import { combineAuthorities } from '#server/bootstrap/config-maps.js'
import type { Server } from '#src/index.js'
import { createServer } from '../create-server.js'
import { answerThat, call } from './start-server.js'

const now = Date.parse('2026-05-04T12:00:00Z')
const minuteMs = 60_000

const authority = (commonName: string, notAfterMs: number): string =>
  issueCertificate({
    use: 'authority',
    subject: { commonName },
    notBeforeMs: now - 1000 * minuteMs,
    notAfterMs,
  }).certPem

const maps = '/api/v1/namespaces/kube-system/configmaps'
const authentication = `${maps}/extension-apiserver-authentication`
const tracking = `${maps}/kube-apiserver-legacy-service-account-token-tracking`

t.test(
  'the authorities of all servers are shown, each once, without those that ended',
  async (t) => {
    const a = authority('a', now + minuteMs)
    const b = authority('b', now - 4 * minuteMs)
    const ended = authority('c', now - 6 * minuteMs)
    t.equal(combineAuthorities([`# a comment\n${b}`, `${a}${ended}${b}`], now), `${b}${a}`)
    t.equal(combineAuthorities(['', a], now), a)
    t.throws(() =>
      combineAuthorities(['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'], now),
    )
  },
)

t.test('the ConfigMaps that kube-apiserver keeps in kube-system', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'kubelevel-config-maps-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const clientCaFile = path.join(folder, 'ca.crt')
  const further = authority('further', now + 1000 * minuteMs)
  writeFileSync(clientCaFile, further)
  const running = async (use: (server: Server) => Promise<void>, started = now) => {
    const server = await createServer({
      logLevel: 'silent',
      storage: `level:${path.join(folder, 'data')}`,
      certDir: path.join(folder, 'pki'),
      clock: { now: () => started },
      clientCaFile,
    })
    await use(server).finally(() => server.close())
  }

  let before: unknown
  await running(async (server) => {
    const { body } = await call(server, { path: authentication })
    t.equal(body.data['client-ca-file'], `${server.caPem}${further}`)
    const [owner] = body.metadata.managedFields
    t.equal(owner.manager, 'kube-apiserver')
    t.match(owner.fieldsV1, { 'f:data': { '.': {}, 'f:client-ca-file': {} } })
    const since = await call(server, { path: tracking })
    t.strictSame(since.body.data, { since: '2026-05-04' })
    before = [body, since.body]
  })

  const dayLater = now + 24 * 60 * minuteMs
  await running(async (server) => {
    const again = [
      await call(server, { path: authentication }),
      await call(server, { path: tracking }),
    ]
    t.strictSame(
      again.map(({ body }) => body),
      before,
      'a later start writes nothing',
    )
    const put = (at: string, body: { metadata: object }, data: object) =>
      call(server, { method: 'PUT', path: at, body: { ...body, data } })
    const other = { 'requestheader-allowed-names': '["front"]' }
    t.equal((await put(authentication, again[0]!.body, other)).status, 200)
    t.equal((await put(tracking, again[1]!.body, { since: 'spring' })).status, 200)
    const until = (path: string, holds: (data: Record<string, string>) => boolean) =>
      answerThat(server, { path }, 'is put back', ({ body }) => holds(body.data ?? {}))
    // Put back as long as the server runs, not at the next start only.
    await until(authentication, (data) => (data['client-ca-file'] ?? '').includes(further))
    await until(tracking, ({ since }) => since === '2026-05-04')
    t.equal((await call(server, { method: 'DELETE', path: tracking })).status, 200)
    await until(tracking, ({ since }) => since === '2026-05-04')
  }, now + minuteMs)

  await running(async (server) => {
    const { body } = await call(server, { path: authentication })
    t.match(
      body.data,
      {
        'client-ca-file': server.caPem,
        'requestheader-allowed-names': '["front","front-proxy-client"]',
        'requestheader-username-headers': '["X-Remote-User"]',
      },
      'what somebody added stays, the authority that ended does not',
    )
    t.equal((await call(server, { path: tracking })).body.data.since, '2026-05-04')
  }, dayLater)
})
