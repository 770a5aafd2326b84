/** The audit log at a server that a kubeconfig names. */
import { existsSync, readdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import t, { type Test } from 'tap'
import { AuditWebhook } from '#server/audit/webhook.js'
import { createServer } from '#src/index.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { call, startServer } from './start-server.js'

interface Collected {
  url: string
  paths: string[]
  events: { auditID: string; stage: string }[]
}

/** How the ids of the test's own requests begin: a client of a server that had the port before may come by. */
const mark = 'mine'

/** Takes lists of events after `failures` answers of 500. */
const startCollector = async (t: Test, failures = 0): Promise<Collected> => {
  const collected: Collected = { url: '', paths: [], events: [] }
  let left = failures
  const server = http.createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      response.statusCode = left > 0 ? 500 : 200
      if (left-- <= 0) {
        const list = JSON.parse(text)
        t.match(list, { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {} })
        const items: Collected['events'] = list.items
        collected.events.push(...items.filter(({ auditID }) => auditID.startsWith(mark)))
        collected.paths.push(request.url!)
      }
      response.end()
    })
  })
  const port = await listen(t, server)
  collected.url = `http://127.0.0.1:${port}/audit/log/?not=kept`
  return collected
}

const startSending = (t: Test, url: string, mode: 'batch' | 'blocking') => {
  const folder = temporaryDirectory(t)
  const [policyFile, configFile] = [path.join(folder, 'policy'), path.join(folder, 'kubeconfig')]
  writeFileSync(
    policyFile,
    'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n',
  )
  const kubeconfig = {
    'current-context': 'c',
    clusters: [{ name: 'a', cluster: { server: url } }],
    contexts: [{ name: 'c', context: { cluster: 'a', user: '' } }],
  }
  writeFileSync(configFile, JSON.stringify(kubeconfig))
  const batch = { bufferSize: 100, maxSize: 400, maxWaitMs: 20, throttle: { qps: 100, burst: 15 } }
  return startServer(t, {
    audit: { policyFile, webhook: { configFile, initialBackoffMs: 10, mode, batch } },
  })
}

t.test('events are sent in lists, and again where the server fails', async (t) => {
  const collected = await startCollector(t, 2)
  const server = await startSending(t, collected.url, 'batch')
  const ask = (_: unknown, i: number) =>
    call(server, { path: '/api/v1/namespaces', headers: { 'audit-id': `${mark}-${i}` } })
  await Promise.all(Array.from({ length: 20 }, ask))
  await eventually('all are there', () => collected.events.length >= 40)
  t.equal(new Set(collected.events.map((e) => `${e.auditID} ${e.stage}`)).size, 40)
  t.ok(collected.paths.length < 40, 'several go at once')
  t.equal(collected.paths[0], '/audit/log?timeout=30s')
})

t.test('in blocking mode the event is there with the answer', async (t) => {
  const collected = await startCollector(t)
  const server = await startSending(t, collected.url, 'blocking')
  await call(server, { path: '/api/v1/namespaces', headers: { 'audit-id': mark } })
  t.same(
    collected.events.map(({ stage }) => stage),
    ['RequestReceived', 'ResponseComplete'],
  )
})

t.test('a server that closes sends what waits', async (t) => {
  const collected = await startCollector(t)
  const server = await startSending(t, collected.url, 'batch')
  await call(server, { path: '/api/v1/namespaces', headers: { 'audit-id': mark } })
  await server.close()
  t.equal(collected.events.length, 2)
})

for (const [what, answer] of [
  ['says nothing', () => undefined],
  ['does not end its answer', (response: http.ServerResponse) => response.write('{')],
] as const)
  t.test(`a webhook that ${what} is waited for as long as it is told`, async (t) => {
    const paths: string[] = []
    const silent = http.createServer((request, response) => {
      paths.push(request.url!)
      answer(response)
    })
    const port = await listen(t, silent)
    const problems: unknown[] = []
    const webhook = new AuditWebhook(
      { server: `http://127.0.0.1:${port}/audit`, namespace: '' },
      { initialBackoffMs: 1, timeoutMs: 250 },
      { closing: AbortSignal.abort(), warn: (_, error) => problems.push(error) },
    )
    t.equal(await webhook.take([]), false)
    t.same(paths, ['/audit?timeout=250ms'])
    t.match(problems, [Error])
    await webhook.close()
  })

t.test('a kept connection that the webhook has closed is no reason for a pause', async (t) => {
  const seen = new WeakSet<object>()
  const closing = http.createServer((request, response) => {
    // As if it had ended the connection just before.
    if (seen.has(request.socket)) request.socket.destroy()
    seen.add(request.socket)
    response.end()
  })
  const port = await listen(t, closing)
  const webhook = new AuditWebhook(
    { server: `http://127.0.0.1:${port}`, namespace: '' },
    { initialBackoffMs: 1e9 },
    { closing: new AbortController().signal, warn: (problem) => void t.fail(problem) },
  )
  t.equal(await webhook.take([]), true)
  t.equal(await webhook.take([]), true)
  await webhook.close()
})

const untold = existsSync('/proc/self/fd') ? false : 'the system does not tell'
t.test(
  'a server that cannot start for its webhook leaves no log open',
  { skip: untold },
  async (t) => {
    const folder = temporaryDirectory(t)
    const [policyFile, file] = [path.join(folder, 'policy'), path.join(folder, 'audit.log')]
    writeFileSync(
      policyFile,
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n',
    )
    const webhook = { configFile: path.join(folder, 'missing') }
    await t.rejects(createServer({ audit: { policyFile, log: { path: file }, webhook } }))
    t.ok(existsSync(file), 'it was open')
    const open = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    })
    t.notOk(open.includes(realpathSync(file)))
  },
)
