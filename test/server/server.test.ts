/** Servers as an embedder sees them: several at once, closed without a trace, the same again after a restart. */
import { spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { discovery } from '#openapi/schemas.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { call, openWatch, startServer } from './start-server.js'

const temporary = (t: { teardown(run: () => void): void }): string => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-server-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { a: '1' },
})
const configMaps = '/api/v1/namespaces/default/configmaps'

t.test('two servers in one process share nothing', async (t) => {
  const [one, two] = await Promise.all([startServer(t), startServer(t)])
  t.not(one.url, two.url)
  t.not(one.caPem, two.caPem)
  t.equal((await call(one, { method: 'POST', path: configMaps, body: configMap('x') })).status, 201)
  t.equal((await call(one, { path: `${configMaps}/x` })).status, 200)
  t.equal((await call(two, { path: `${configMaps}/x` })).status, 404)
  t.equal((await call(two, { path: '/api', token: one.adminToken })).status, 401)
})

// fabric8's client takes every other key for one of RSA, PKCS #8 of an elliptic curve included.
t.test('the key of a kubeconfig says that it is of an elliptic curve', async (t) => {
  const { key, cert } = await parseKubeconfig((await startServer(t)).kubeconfig)
  t.match(key, /^-----BEGIN EC PRIVATE KEY-----\n/)
  t.ok(new X509Certificate(cert!).checkPrivateKey(createPrivateKey(key!)))
})

t.test('after close nothing keeps the process alive', async (t) => {
  const index = fileURLToPath(new URL('../../src/index.js', import.meta.url))
  const script = `
    const { createServer } = await import(${JSON.stringify(index)})
    const servers = await Promise.all([createServer(), createServer()])
    await Promise.all(servers.map((server) => server.close()))`
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 120_000,
  })
  t.equal(done.signal, null, 'ended by itself')
  t.equal(done.status, 0, done.stderr.toString())
})

t.test(
  'a restart keeps objects, certificates and the token; keys are for their owner only',
  async (t) => {
    const folder = temporary(t)
    const storage = `level:${folder}`
    const first = await createServer({ storage, logLevel: 'silent' })
    const made = await call(first, { method: 'POST', path: configMaps, body: configMap('kept') })
    t.equal(made.status, 201)
    await first.close()
    const certificate = path.join(folder, 'pki', 'apiserver.crt')
    const before = readFileSync(certificate, 'utf8')
    const second = await startServer(t, { storage })
    t.equal(second.caPem, first.caPem)
    t.equal(readFileSync(certificate, 'utf8'), before)
    t.equal(second.adminToken, first.adminToken)
    const read = await call(second, { path: `${configMaps}/kept` })
    t.strictSame(read.body, made.body)
    const pki = path.join(folder, 'pki')
    t.equal(statSync(pki).mode & 0o777, 0o700)
    for (const file of readdirSync(pki))
      t.equal(statSync(path.join(pki, file)).mode & 0o777, 0o600, file)
  },
)

/** In a thread of its own, so that a request follows as soon as the answer before it has come. */
const sender = `
  const { workerData: { url, token }, parentPort } = require('node:worker_threads')
  const https = require('node:https')
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
  const send = (method, path, body) => new Promise((resolve) => {
    const request = https.request(url + path, { agent, method, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
    request.on('error', (error) => resolve(error.message)).end(body)
  })
  const large = (name, length) => JSON.stringify({ metadata: { name }, data: { text: 'x'.repeat(length) } })
  const outcomes = async () => {
    const all = []
    for (let n = 0; n < 30; n++) all.push(await send('POST', '', large('large-' + n, 100_000)))
    for (let n = 0; n < 60; n++) {
      await send('GET', '?limit=' + (1 + n % 30))
      all.push(await send('POST', '', large('larger', 900_000)))
      await send('DELETE', '/larger')
    }
    return all
  }
  outcomes().then((all) => parentPort.postMessage(all))`

t.test('one connection takes large bodies and large answers, one after the other', async (t) => {
  const server = await startServer(t)
  const workerData = { url: server.url + configMaps, token: server.adminToken }
  const worker = new Worker(sender, { eval: true, workerData })
  const [outcomes] = await once(worker, 'message')
  t.strictSame([...new Set(outcomes)], [201])
  await worker.terminate()
})

t.test('close ends watches and answers what was accepted', async (t) => {
  const server = await createServer({ logLevel: 'silent' })
  await call(server, { method: 'POST', path: configMaps, body: configMap('there') })
  const watch = openWatch(t, server, `${configMaps}?watch=true`)
  // It has begun: what is not accepted yet is not answered.
  await watch.lines(1)
  const lists = Array.from({ length: 20 }, () => call(server, { path: configMaps }))
  t.strictSame([...new Set((await Promise.all(lists)).map(({ status }) => status))], [200])
  const closing = server.close()
  await watch.ended
  await closing
  await t.rejects(call(server, { path: '/healthz' }))
  await server.close()
})

t.test('a busy port is an error, and the server that has it goes on', async (t) => {
  const server = await startServer(t)
  const port = Number(new URL(server.url).port)
  await t.rejects(createServer({ port, logLevel: 'silent' }), { code: 'EADDRINUSE' })
  t.equal((await call(server, { path: '/healthz' })).text, 'ok')
})

t.test('a server that cannot publish itself leaves nothing open', async (t) => {
  const folder = t.testdir({ file: '' })
  const storage = `level:${folder}/db`
  const kubeconfigOut = `${folder}/file/kubeconfig`
  await t.rejects(createServer({ storage, kubeconfigOut, logLevel: 'silent' }), { code: 'EEXIST' })
  const next = await startServer(t, { storage })
  t.equal((await call(next, { path: '/healthz' })).text, 'ok', 'the store can be had')
})

t.test('a server that cannot make what every cluster has leaves nothing open', async (t) => {
  const storage = `level:${t.testdir()}/db`
  const first = await createServer({ storage, logLevel: 'silent' })
  const path = '/api/v1/namespaces/default/services/kubernetes'
  t.equal((await call(first, { method: 'DELETE', path })).status, 200)
  await first.close()
  // The ranges are still those of the first start, which have no such address.
  const failing = createServer({
    storage,
    serviceClusterIpRange: '10.1.0.0/24',
    logLevel: 'silent',
  })
  await t.rejects(failing, { message: /failed to allocate IP 10\.1\.0\.1/ })
  const next = await startServer(t, { storage })
  t.equal((await call(next, { path: '/healthz' })).text, 'ok', 'the store can be had')
})

t.test('garbage on the port is refused and hurts nobody', async (t) => {
  const server = await startServer(t)
  const port = Number(new URL(server.url).port)
  const garbage = Array.from(
    { length: 50 },
    (_, i) =>
      new Promise<void>((resolve) => {
        const socket = net.connect(port, '127.0.0.1', () => {
          socket.write(i % 2 === 0 ? 'GET / HTTP/1.1\r\n\r\n' : Buffer.alloc(300, i))
          socket.end()
        })
        socket.on('error', () => resolve())
        socket.on('close', () => resolve())
        socket.resume()
      }),
  )
  await Promise.all(garbage)
  const odd = ['/%', '/api/v1/namespaces/%00', '/../../etc/passwd', `/${'x'.repeat(3000)}`]
  for (const path of odd)
    t.match((await call(server, { path })).status, /^[34]\d\d$/, path.slice(0, 30))
  const tooLarge = await call(server, {
    method: 'POST',
    path: configMaps,
    body: { ...configMap('big'), data: { a: 'x'.repeat(3 * 1024 * 1024) } },
  })
  t.match(tooLarge.body, { kind: 'Status', code: 413, reason: 'RequestEntityTooLarge' })
  t.equal((await call(server, { path: '/healthz' })).text, 'ok')
})

t.test('discovery equals the reference, in both forms', async (t) => {
  const server = await startServer(t)
  const facts = discovery()
  const aggregated = {
    accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  }
  for (const [root, expected] of [
    ['/api', facts.api],
    ['/apis', facts.apis],
  ] as const) {
    const { body, headers } = await call(server, { path: root, headers: aggregated })
    t.strictSame(body.items, expected.items)
    const again = await call(server, {
      path: root,
      headers: { ...aggregated, 'if-none-match': String(headers.etag) },
    })
    t.equal(again.status, 304)
  }
  for (const [path, document] of Object.entries(facts.legacy)) {
    if (path === '/api') continue
    t.strictSame((await call(server, { path })).body, document, path)
  }
})

t.test(
  'OpenAPI documents come under their hash, are never sent twice, and know every operation',
  async (t) => {
    const server = await startServer(t)
    const index = (await call(server, { path: '/openapi/v3' })).body.paths
    const { serverRelativeURL } = index['apis/apps/v1']
    const document = await call(server, { path: serverRelativeURL })
    t.ok(document.body.components.schemas['io.k8s.api.apps.v1.Deployment'])
    t.ok(document.body.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'].patch)
    const etag = String(document.headers.etag)
    const again = await call(server, {
      path: serverRelativeURL,
      headers: { 'if-none-match': etag },
    })
    t.equal(again.status, 304)
    const moved = await call(server, { path: '/openapi/v3/apis/apps/v1?hash=0' })
    t.equal(moved.status, 301)
    t.equal(moved.headers.location, serverRelativeURL)
    const old = (await call(server, { path: '/openapi/v2' })).body
    t.equal(old.swagger, '2.0')
    t.ok(old.paths['/api/v1/namespaces/{namespace}/pods'].post)
  },
)

t.test(
  'metrics count requests by what the table knows, and by nothing that a client makes up',
  async (t) => {
    const server = await startServer(t)
    await call(server, { path: configMaps })
    await call(server, {
      method: 'POST',
      path: configMaps,
      body: { metadata: { name: 'counted' } },
    })
    await call(server, { path: '/apis/made.up/v1/things' })
    const { text } = await call(server, { path: '/metrics' })
    const scopes = text.matchAll(
      /^apiserver_request_total\{.*resource="configmaps",scope="(.*?)".*verb="(.*?)"/gm,
    )
    t.same(
      [...scopes].map(([, scope, verb]) => `${verb} ${scope}`),
      ['LIST namespace', 'POST resource'],
    )
    t.match(
      text,
      /apiserver_request_total\{[^}]*resource="configmaps"[^}]*verb="LIST"[^}]*code="200"\} 1/,
    )
    t.match(
      text,
      /apiserver_request_duration_seconds_bucket\{[^}]*resource="configmaps"[^}]*le="60"\} 1/,
    )
    t.notMatch(text, /made\.up/)
  },
)

t.test('a request that takes too long is a 504, a watch is not', async (t) => {
  const never = new Promise<never>(() => {})
  const storage = await openStorage('memory:', { clock: systemClock })
  let stuck = false
  const slow: StorageDriver = Object.create(storage, {
    txn: {
      value: (...args: Parameters<StorageDriver['txn']>) => (stuck ? never : storage.txn(...args)),
    },
  })
  const server = await startServer(t, { storage: slow, requestTimeoutMs: 300 })
  stuck = true
  const watch = call(server, { path: `${configMaps}?watch=true&timeoutSeconds=4` })
  for (const query of ['', '?timeout=50ms']) {
    const write = { method: 'POST', path: `${configMaps}${query}`, body: configMap('late') }
    const late = await call(server, write)
    // Upstream's timeout filter writes the Status without its kind.
    t.match(late, { status: 504, headers: { 'content-type': 'text/plain; charset=utf-8' } })
    t.match(JSON.parse(late.text), { status: 'Failure', reason: 'Timeout', code: 504 })
  }
  t.equal((await watch).status, 200)
})

t.test('what is done after its 504 is an answer no more, and no error', async (t) => {
  const storage = await openStorage('memory:', { clock: systemClock })
  let goesOn: Promise<void> | undefined
  let isHeld = false
  const slow: StorageDriver = Object.create(storage, {
    txn: {
      value: async (...args: Parameters<StorageDriver['txn']>) => {
        isHeld ||= args[1].some(({ key }) => key.endsWith('/late'))
        await goesOn
        return storage.txn(...args)
      },
    },
  })
  const server = await startServer(t, { storage: slow, requestTimeoutMs: 300, logLevel: 'error' })
  let goOn = (): void => {}
  goesOn = new Promise((resolve) => {
    goOn = resolve
  })
  const write = { method: 'POST', path: configMaps, body: configMap('late') }
  // On a machine that stands still it may be late before it comes to the store.
  await eventually('a write that is held up', async () => {
    t.equal((await call(server, write)).status, 504)
    return isHeld
  })
  const logged = t.capture(fs, 'writeSync', fs.writeSync)
  goOn()
  const read = () => call(server, { path: `${configMaps}/late` })
  await eventually('what was written', async () => (await read()).status === 200)
  t.same(
    logged().map(({ args }) => String(args[1])),
    [],
  )
})

t.test('a request without any time is late before it is authenticated', async (t) => {
  const server = await startServer(t)
  for (const path of [configMaps, '/version', '/nothing']) {
    const late = await call(server, { path: `${path}?timeout=1ns`, token: 'nobody' })
    t.match(late, { status: 504, headers: { 'content-type': 'text/plain; charset=utf-8' } }, path)
    t.equal(late.headers['x-content-type-options'], undefined)
    t.equal(
      late.text,
      '{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}\n',
    )
  }
  const write = { method: 'POST', path: `${configMaps}?timeout=1us`, body: configMap('late') }
  t.equal((await call(server, write)).status, 504)
  t.equal((await call(server, { path: `${configMaps}/late` })).status, 404, 'nothing was written')
})

t.test('documents say so if a request names a type that they do not take', async (t) => {
  const server = await startServer(t)
  const statusOf = async (path: string, type: string) =>
    (await call(server, { path, headers: { 'content-type': type } })).status
  const documents = ['/version', '/api', '/api/v1', '/apis/apps/v1', '/apis/apiregistration.k8s.io']
  for (const path of documents) {
    const refused = await call(server, { path, headers: { 'content-type': 'text/plain' } })
    t.match(refused.body, { code: 415, message: '415: Unsupported Media Type', details: {} }, path)
    t.equal(await statusOf(path, '*/*'), 415, path)
    t.equal(await statusOf(path, 'application/json; charset=utf-8'), 200, path)
    t.equal(await statusOf(path, 'text/plain,application/json'), 200, path)
  }
  t.equal(await statusOf('/version', 'application/yaml'), 415)
  t.equal(await statusOf('/api/v1', 'application/yaml'), 200)
  for (const path of ['/apis', '/apis/apps', '/openid/v1/jwks', '/api/v1/pods', '/healthz'])
    t.equal(await statusOf(path, 'text/plain'), 200, path)
})

t.test('at /version every other method is refused, and nothing is below it', async (t) => {
  const server = await startServer(t)
  for (const method of ['POST', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    const ask = (path: string) => call(server, { method, path })
    for (const path of ['/version', '/version/'])
      t.match(await ask(path), { status: 405, body: { reason: 'MethodNotAllowed' } }, method)
    for (const path of [
      '/version/x',
      '/version/x/y',
      '/openid/v1/jwks/x',
      '/.well-known/openid-configuration/x',
    ])
      t.match(await ask(path), { status: 404, body: { reason: 'NotFound', details: {} } }, method)
    t.match(await ask('/versionx'), { status: 404, text: '404 page not found\n' }, method)
  }
})
