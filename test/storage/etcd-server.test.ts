/** The API server over etcd: what is in etcd, and what clients see when etcd is away, full, or wants a certificate. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { issueCertificate } from '#net/x509.js'
import type { Server, ServerOptions } from '#src/index.js'
import { EtcdApi, readCall } from '#storage/etcd/api.js'
import type { RangeResponse } from '#storage/etcd/messages.js'
import { eventually } from '../eventually.js'
import { type Answer, answerThat, call, isServed, startServer } from '../server/start-server.js'
import { type Etcd, hasEtcd, makeRoom, operate, startEtcd } from './etcd-fixture.js'
import { temporaryDirectory } from './level-fixture.js'

const maps = '/api/v1/namespaces/default/configmaps'
const nodes = '/api/v1/nodes'
const events = '/api/v1/namespaces/default/events'

const post = (server: Server, path: string, body: object): Promise<Answer> =>
  call(server, { method: 'POST', path, body })

const map = (name: string, value = '') => ({ metadata: { name }, data: { value } })

/** Short checks: an etcd that does not answer is told soon, and none is remembered for long. */
const serverOn = (t: Test, etcd: Etcd, query = '', options: ServerOptions = {}): Promise<Server> =>
  startServer(t, {
    storage: `etcd:${etcd.url}?${query}`,
    etcdHealthcheckTimeoutMs: 500,
    etcdReadycheckTimeoutMs: 500,
    ...options,
  })

const ready = (server: Server): Promise<Answer> => isServed(server, '/readyz')

/** Every key in etcd, and which of them are on a lease. */
const keysIn = async (etcd: Etcd) => {
  const api = new EtcdApi(etcd.url, {})
  const all = { key: Buffer.from([0]), range_end: Buffer.from([0]) }
  const { kvs } = await api.call<RangeResponse>('KV', 'Range', all, readCall)
  api.close()
  return new Map(kvs.map(({ key, lease }) => [String(key), lease]))
}

const layout = (t: Test, etcd: Etcd) =>
  t.test('keys are laid out as kube-apiserver lays them out, below --etcd-prefix', async (t) => {
    const server = await serverOn(t, etcd, 'prefix=cluster-1/registry/')
    await post(server, nodes, { metadata: { name: 'n' } })
    await post(server, maps, map('m'))
    const involvedObject = { namespace: 'default', name: 'm', kind: 'ConfigMap' }
    const event = await post(server, events, { metadata: { name: 'e' }, involvedObject })
    t.equal(event.status, 201)
    const keys = await keysIn(etcd)
    for (const key of [
      'namespaces/default',
      'configmaps/default/m',
      'minions/n',
      'events/default/e',
      'services/specs/default/kubernetes',
      'services/endpoints/default/kubernetes',
      'clusterroles/cluster-admin',
      'apiregistration.k8s.io/apiservices/v1.apps',
    ])
      t.ok(keys.has(`/cluster-1/registry/${key}`), key)
    const elsewhere = [...keys.keys()].filter((key) => !key.startsWith('/cluster-1/registry/'))
    t.same(elsewhere, [])
    const leased = [...keys].filter(([, lease]) => lease !== '0').map(([key]) => key)
    t.match(leased, [
      '/cluster-1/registry/events/default/e',
      /^\/cluster-1\/registry\/masterleases\/[0-9a-f.:]+$/,
    ])
  })

const away = (t: Test, etcd: Etcd) =>
  t.test('etcd away: the checks tell, requests wait for it, nothing is lost', async (t) => {
    const server = await serverOn(t, etcd, 'prefix=/away')
    t.equal((await post(server, maps, map('before'))).status, 201)
    await etcd.kill()
    const text = await call(server, { path: '/readyz?verbose' })
    t.equal(text.status, 500)
    t.match(
      text.text,
      '[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\n',
    )
    for (const path of ['/healthz/etcd', '/livez/etcd', '/readyz/etcd-readiness']) {
      const { status, text } = await call(server, { path })
      const why = 'error getting data from etcd: context deadline exceeded'
      t.same([status, text], [500, `internal server error: ${why}\n`], path)
    }
    const old = await call(server, { path: `${maps}/before?resourceVersion=0` })
    t.equal(old.status, 200, 'what need not be fresh is answered')
    // Not before the checks, which take their time: a write waits for half a minute.
    const waiting = [
      call(server, { path: `${maps}/before` }),
      call(server, { path: maps }),
      post(server, maps, map('meanwhile')),
    ]
    const late = await call(server, { path: `${maps}/before?timeout=1s` })
    t.equal(late.status, 504)
    await etcd.start()
    const [read, list, written] = await Promise.all(waiting)
    t.equal(read!.status, 200)
    t.equal(list!.status, 200)
    t.equal(written!.status, 201)
    await ready(server)
    t.equal((await call(server, { path: `${maps}/meanwhile` })).status, 200)
  })

/** The way to etcd breaks each time that a write of one of the `keys` has gone over it, and before its answer comes back. */
const layBreakingWay = async (t: Test, etcd: Etcd, keys: Set<string>): Promise<string> => {
  const sockets = new Set<Socket>()
  const way = createServer((near) => {
    const far = connect(Number(new URL(etcd.url).port), '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
    far.pipe(near)
    near.on('data', (bytes) => {
      far.write(bytes)
      for (const key of keys)
        if (bytes.includes(key)) {
          keys.delete(key)
          far.unpipe(near)
          far.once('data', () => near.resetAndDestroy())
        }
    })
  })
  way.listen(0, '127.0.0.1')
  await once(way, 'listening')
  t.teardown(() => {
    way.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(way.address() as AddressInfo).port}`
}

const shaky = (t: Test, etcd: Etcd) =>
  t.test('a write of a start whose answer got lost is made again', async (t) => {
    const keys = new Set(['namespaces/default', 'apiservices/v1.apps', 'services/specs/default'])
    const url = await layBreakingWay(t, etcd, keys)
    const server = await serverOn(t, { ...etcd, url }, 'prefix=shaky/')
    t.same([...keys], [])
    await ready(server)
    const path = '/apis/apiregistration.k8s.io/v1/apiservices'
    const { items } = (await call(server, { path })).body
    for (const { status } of items) t.match(status.conditions, [{ type: 'Available' }])
  })

const replicas = (t: Test, etcd: Etcd) =>
  t.test('two servers on one etcd: written on one, read on the other at once', async (t) => {
    const [one, two] = [
      await serverOn(t, etcd, 'prefix=/two'),
      await serverOn(t, etcd, 'prefix=/two'),
    ]
    for (let i = 0; i < 20; i++) {
      const [writer, reader] = i % 2 === 0 ? [one, two] : [two, one]
      const { body } = await post(writer, maps, map(`m${i}`))
      const read = await call(reader, { path: `${maps}/m${i}` })
      t.same(read.body, body)
      const { body: list } = await call(reader, { path: maps })
      t.ok(list.items.some(({ metadata }: typeof body) => metadata.name === `m${i}`))
    }
  })

const compacted = (t: Test, etcd: Etcd) =>
  t.test('compacted by somebody else: old revisions are 410, the cache goes on', async (t) => {
    const server = await serverOn(t, etcd, 'prefix=/compacted')
    const { body: first } = await post(server, maps, map('a'))
    const { body: last } = await post(server, maps, map('b'))
    const revision = last.metadata.resourceVersion
    await operate(etcd, 'kv/compaction', { revision, physical: true })
    const old = `resourceVersion=${first.metadata.resourceVersion}`
    const list = await call(server, { path: `${maps}?${old}&resourceVersionMatch=Exact` })
    t.equal(list.status, 410)
    t.equal((await post(server, maps, map('c'))).status, 201)
    const { body } = await call(server, { path: maps })
    const names = body.items.map(({ metadata }: typeof last) => metadata.name)
    t.same(
      names,
      ['a', 'b', 'c', 'kube-root-ca.crt'].filter((name) => names.includes(name)),
    )
  })

const full = (t: Test) =>
  t.test('etcd full: writes are refused by name, reads and deletes go on, then all', async (t) => {
    const etcd = await startEtcd(t, { flags: ['--quota-backend-bytes', String(4 << 20)] })
    const server = await serverOn(t, etcd)
    let refused: Answer | undefined
    const written: string[] = []
    while (refused === undefined && written.length < 20) {
      const name = `m${written.length}`
      const answer = await post(server, maps, map(name, 'x'.repeat(500_000)))
      if (answer.status === 201) written.push(name)
      else refused = answer
    }
    t.same(refused?.body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'etcdserver: mvcc: database space exceeded',
      code: 500,
    })
    const readiness = { path: '/readyz/etcd-readiness' }
    await answerThat(server, readiness, 'tells it', ({ text }) => /alarm: NOSPACE/.test(text))
    await isServed(server, '/livez')
    t.equal((await call(server, { path: `${maps}/m0` })).status, 200)
    for (const name of written) {
      const removed = await call(server, { method: 'DELETE', path: `${maps}/${name}` })
      t.equal(removed.status, 200)
    }
    await makeRoom(etcd)
    t.equal((await post(server, maps, map('again'))).status, 201)
    await ready(server)
  })

const unreadable = (t: Test, etcd: Etcd) =>
  t.test('a value that nobody can read stops only those who ask for it', async (t) => {
    const server = await serverOn(t, etcd, 'prefix=unreadable', {
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const pods = '/api/v1/namespaces/default/pods'
    const containers = [{ name: 'c', image: 'i' }]
    const pod = (name: string) => ({ metadata: { name }, spec: { nodeName: 'n', containers } })
    const ask = async (path: string) => {
      const { status, body } = await call(server, { path })
      return status === 200 ? 200 : [status, body.reason, body.message]
    }
    const byNode = `${pods}?fieldSelector=spec.nodeName%3Dn`
    const byLabel = `${pods}?labelSelector=a%3Db`
    await post(server, pods, pod('a'))
    // From here on there are indexes, and the object that comes is to be put into them.
    t.same([await ask(byNode), await ask(byLabel)], [200, 200])
    const key = Buffer.from('/unreadable/pods/default/b').toString('base64')
    await operate(etcd, 'kv/put', { key, value: Buffer.from('{"kind":"Pod').toString('base64') })
    const refused = [
      500,
      undefined,
      /^the stored value of \/registry\/pods\/default\/b cannot be read: /,
    ]
    for (const path of [byNode, byLabel, pods, `${pods}?resourceVersion=0`, `${pods}/b`])
      t.match(await ask(path), refused, path)
    const frame = (await call(server, { path: `${pods}?watch=1&timeoutSeconds=5` })).text
    t.match(JSON.parse(frame.trim().split('\n').at(-1)!), { type: 'ERROR', object: { code: 500 } })
    t.equal((await post(server, pods, pod('b'))).status, 409)
    t.equal((await post(server, maps, map('m'))).status, 201)
    t.equal(await ask(`${pods}/a`), 200)
    await ready(server)
    await operate(etcd, 'kv/deleterange', { key })
    for (const path of [byNode, byLabel, pods]) t.equal(await ask(path), 200, path)
  })

const secured = (t: Test) =>
  t.test('an etcd that wants a client certificate', async (t) => {
    const warnings: string[] = []
    const warned = ({ message }: Error) => void warnings.push(message)
    process.on('warning', warned)
    t.teardown(() => process.off('warning', warned))
    const directory = temporaryDirectory(t)
    const notBeforeMs = systemClock.now() - 60_000
    const span = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 }
    const authority = (commonName: string) =>
      issueCertificate({ use: 'authority', subject: { commonName }, ...span })
    const ca = authority('etcd-ca')
    const file = (name: string, text: string) => {
      writeFileSync(join(directory, name), text, { mode: 0o600 })
      return join(directory, name)
    }
    const pair = (use: 'server' | 'client', issuer = ca) => {
      const subject = { commonName: use }
      const issued = issueCertificate({ use, subject, names: ['127.0.0.1'], issuer, ...span })
      return { cert: file(`${use}.crt`, issued.certPem), key: file(`${use}.key`, issued.keyPem) }
    }
    const caFile = file('ca.crt', ca.certPem)
    const { cert, key } = pair('client')
    const clientCa = file('client-ca.crt', ca.certPem)
    const etcd = await startEtcd(t, { tls: { ...pair('server'), ca: clientCa } })
    const query = new URLSearchParams({ cafile: caFile, certfile: cert, keyfile: key })
    const server = await serverOn(t, etcd, String(query))
    t.equal((await post(server, maps, map('m'))).status, 201)
    await ready(server)
    const stranger = new EtcdApi(etcd.url, { caFile })
    t.teardown(() => stranger.close())
    await t.rejects(stranger.call('KV', 'Range', { key: Buffer.from('x') }, { timeoutMs: 1_000 }))
    // TLS has no room for the address as a name: Node 20 warns, Node 26 does not connect.
    t.same(warnings, [])

    await etcd.kill()
    const nextCa = authority('next-ca')
    file('client-ca.crt', nextCa.certPem)
    pair('client', nextCa)
    await etcd.start()
    const isWritten = async () => (await post(server, maps, map('n'))).status === 201
    await eventually('the certificate that is in the files now is shown', isWritten)
  })

if (!hasEtcd) {
  t.test('the server over etcd', { skip: 'no etcd on this machine' }, () => {})
} else {
  const etcd = await startEtcd(t)
  await layout(t, etcd)
  await away(t, etcd)
  await shaky(t, etcd)
  await replicas(t, etcd)
  await compacted(t, etcd)
  await unreadable(t, etcd)
  await full(t)
  await secured(t)
}
