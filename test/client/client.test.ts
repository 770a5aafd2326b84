import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject, PersistedObject } from '#api/object.js'
import { whenAborted } from '#async/sleep.js'
import { type Client, createClient, type WatchOptions } from '#client/client.js'
import { createEventRecorder } from '#client/event-recorder.js'
import { Informer } from '#client/informer.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { runAsLeader } from '#client/leader-election.js'
import { silentLog } from '#client/log.js'
import { ObjectStore } from '#client/object-store.js'
import { resources } from '#client/resources.js'
import { createTransport } from '#client/transport.js'
import { WorkQueue, work } from '#client/work-queue.js'
import { leftAtSignal } from '#test/async/left-at-signal.js'
import { eventually } from '../eventually.js'
import { storedMetadata } from '../stored-metadata.js'

type Handler = (request: http.IncomingMessage, answer: http.ServerResponse, body: string) => void

/** A server that answers as the test says; the point here is what clients do when it misbehaves. */
const startScripted = async (t: { teardown(f: () => void): unknown }, handle: Handler) => {
  const server = http.createServer(async (request, answer) => {
    let body = ''
    for await (const chunk of request) body += chunk
    handle(request, answer, body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = createClient({ server: `http://127.0.0.1:${port}`, namespace: 'default' })
  t.teardown(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return client
}

const json = (answer: http.ServerResponse, code: number, value: unknown) => {
  answer.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
const pod = (name: string, resourceVersion: string, uid = `uid-${name}`) => ({
  metadata: { name, namespace: 'ns', uid, resourceVersion },
})
const event = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`
const waitFor = (check: () => boolean) => eventually(String(check), check)

t.test(
  'an informer resumes a broken watch where it stopped and relists only after 410',
  async (t) => {
    const lists: string[] = []
    const watches: string[] = []
    const client = await startScripted(t, (request, answer) => {
      const url = new URL(request.url!, 'http://x')
      const from = url.searchParams.get('resourceVersion')
      if (url.searchParams.get('watch') === null) {
        lists.push(url.search)
        const items =
          lists.length === 1
            ? [pod('a', '1'), pod('b', '2')]
            : [pod('b', '2'), pod('c', '9', 'uid-c2')]
        json(answer, 200, { metadata: { resourceVersion: lists.length === 1 ? '5' : '20' }, items })
        return
      }
      watches.push(from!)
      answer.writeHead(200)
      if (watches.length === 1) {
        // An event cut in two by the network, then the connection dies.
        const text = event('ADDED', pod('c', '6'))
        answer.write(text.slice(0, 10))
        setTimeout(() => {
          answer.write(text.slice(10))
          answer.write(event('BOOKMARK', { metadata: { resourceVersion: '8' } }))
          setTimeout(() => answer.destroy(), 5)
        }, 5)
      } else if (watches.length === 2)
        answer.end(
          event('ERROR', { kind: 'Status', status: 'Failure', code: 410, reason: 'Expired' }),
        )
      else answer.flushHeaders()
    })
    const informer = new Informer({ client, ref: resources.pods, log: silentLog, random: () => 0 })
    const told: string[] = []
    const name = (o: KubeObject) => `${o.metadata.name}@${o.metadata.resourceVersion}`
    informer.handle({
      onAdd: (o) => told.push(`add ${name(o)}`),
      onUpdate: (o) => told.push(`update ${name(o)}`),
      onDelete: (o) => told.push(`delete ${name(o)}`),
    })
    const stop = new AbortController()
    const running = informer.run(stop.signal)
    await waitFor(() => watches.length === 3)
    stop.abort()
    await running
    t.same(watches, ['5', '8', '20'], 'resumed from the bookmark, then from the second list')
    t.equal(lists.length, 2)
    t.same(
      told,
      ['add a@1', 'add b@2', 'add c@6', 'delete a@1', 'delete c@6', 'add c@9'],
      'what vanished meanwhile is a delete; another uid under a name is a delete and an add',
    )
    t.same(informer.store.list().map(name).sort(), ['b@2', 'c@9'])
  },
)

t.test(
  'an informer that was held up while its watch opened sees only what it has read',
  async (t) => {
    let opened = (): void => {}
    const client = {
      list: async () => ({ metadata: { resourceVersion: '1' }, items: [] }),
      // biome-ignore lint/correctness/useYield: nothing is missed
      async *watch(_: unknown, { onOpen, signal }: WatchOptions) {
        onOpen?.()
        opened()
        await whenAborted(signal)
      },
    } as unknown as Client
    const informer = new Informer({ client, ref: resources.pods, log: silentLog })
    const inNextTurn = new Promise<number>((resolve) => {
      opened = () => {
        setTimeout(() => resolve(informer.blindMs))
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      }
    })
    const stop = new AbortController()
    const running = informer.run(stop.signal)
    t.ok((await inNextTurn) > 0, 'what came meanwhile is still in the socket')
    await waitFor(() => informer.blindMs === 0)
    stop.abort()
    await running
  },
)

t.test(
  'an informer whose watch has ended as planned sees nothing until the next is open',
  async () => {
    let watches = 0
    let end = (): void => {}
    const ending = new Promise<void>((resolve) => (end = resolve))
    const metadata = { resourceVersion: '1' }
    const client = {
      list: async () => ({ metadata, items: [] }),
      async *watch(_: unknown, { onOpen, signal }: WatchOptions) {
        // The second one is not answered.
        if (++watches > 1) return whenAborted(signal)
        onOpen?.()
        await ending
        yield { type: 'BOOKMARK', object: { metadata } }
      },
    } as unknown as Client
    const informer = new Informer({ client, ref: resources.pods, log: silentLog })
    const stop = new AbortController()
    const running = informer.run(stop.signal)
    await waitFor(() => informer.blindMs === 0)
    end()
    await waitFor(() => watches === 2)
    await waitFor(() => informer.blindMs > 0)
    stop.abort()
    await running
  },
)

t.test(
  'an informer waits longer and longer for a server whose watches bring nothing',
  async (t) => {
    for (const ending of ['', event('ERROR', { kind: 'Status', code: 410, reason: 'Expired' })]) {
      let watches = 0
      const client = await startScripted(t, (request, answer) => {
        if (!request.url!.includes('watch=true'))
          return json(answer, 200, { metadata: { resourceVersion: '1' }, items: [] })
        watches++
        answer.writeHead(200).end(ending)
      })
      const waits: unknown[] = []
      const log = {
        ...silentLog,
        debug: ({ retryMs }: { retryMs?: number }) => waits.push(retryMs),
      }
      const random = () => 0
      const informer = new Informer({ client, ref: resources.pods, log, random })
      const stop = new AbortController()
      const running = informer.run(stop.signal)
      await waitFor(() => watches >= 3)
      stop.abort()
      await running
      t.ok(waits.length >= watches - 1, `${waits.length} waits between ${watches} watches`)
    }
  },
)

t.test('an informer outlives a server that refuses, and a handler that throws', async (t) => {
  let requests = 0
  const client = await startScripted(t, (request, answer) => {
    requests++
    if (requests === 1) answer.destroy()
    else if (requests === 2) json(answer, 500, { kind: 'Status', code: 500, message: 'no' })
    else if (!request.url!.includes('watch=true'))
      json(answer, 200, { metadata: { resourceVersion: '1' }, items: [pod('a', '1')] })
    else answer.writeHead(200).write(event('MODIFIED', pod('a', '2')))
  })
  const informer = new Informer({ client, ref: resources.pods, log: silentLog, random: () => 0 })
  informer.handle({
    onAdd: () => {
      throw new Error('handler')
    },
  })
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  await informer.synced()
  await waitFor(() => informer.store.get('ns/a')?.metadata.resourceVersion === '2')
  stop.abort()
  await running
  t.equal(informer.store.size, 1)
})

t.test('a work queue holds a key once, never gives it to two, and comes back to it', async (t) => {
  const queue = new WorkQueue<string>({ backoffBaseMs: 1 })
  const stop = new AbortController()
  const log: string[] = []
  let active = 0
  let failures = 2
  let goOn = (): void => {}
  const added = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const working = work({
    queue,
    workers: 4,
    log: silentLog,
    signal: stop.signal,
    async sync(key) {
      t.equal(++active, 1, 'one worker at a time has the key')
      log.push(key)
      await added
      await new Promise((resolve) => setTimeout(resolve, 5))
      active--
      if (failures-- > 0) throw new Error('again')
    },
  })
  queue.add('a')
  queue.add('a')
  await waitFor(() => log.length === 1)
  queue.add('a')
  goOn()
  await waitFor(() => log.length >= 3 && active === 0 && queue.length === 0)
  t.ok(log.length <= 4, 'adding while it is worked on means once more, not once an add')
  t.equal(queue.backoffMsOf('a'), 1, 'success forgets the failures')
  stop.abort()
  await working
})

t.test('keys are given out in the order in which they came', async (t) => {
  const queue = new WorkQueue<string>()
  const taken: (string | undefined)[] = []
  const take = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const key = (await queue.take())!
      taken.push(key)
      queue.done(key)
    }
  }
  for (const key of ['a', 'b', 'c']) queue.add(key)
  await take(2)
  for (const key of ['d', 'c', 'e']) queue.add(key)
  t.equal(queue.length, 3)
  await take(2)
  queue.add('f')
  await take(2)
  t.same(taken, ['a', 'b', 'c', 'd', 'e', 'f'])
  t.equal(queue.length, 0)
  queue.close()
})

t.test('a failure is news when others went before it for ten seconds', async (t) => {
  const levelAt = async (backoffBaseMs: number) => {
    const queue = new WorkQueue<string>({ backoffBaseMs })
    const stop = new AbortController()
    const levels: string[] = []
    const log = { ...silentLog, info: () => levels.push('info'), warn: () => levels.push('warn') }
    const sync = () => Promise.reject(new Error('not there yet'))
    const working = work({ queue, workers: 1, log, signal: stop.signal, sync })
    queue.add('a')
    await waitFor(() => levels.length > 0)
    stop.abort()
    await working
    return levels[0]
  }
  t.equal(await levelAt(5120), 'info')
  t.equal(await levelAt(10_240), 'warn')
})

t.test('indexes follow their objects', (t) => {
  const store = new ObjectStore()
  const labelled = (node: string) => ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: storedMetadata(),
    node,
  })
  store.set('a', labelled('n1'))
  store.addIndex('node', (o) => [o.node])
  store.set('b', labelled('n1'))
  store.set('a', labelled('n2'))
  t.same(store.byIndex('node', 'n1').length, 1)
  store.delete('b')
  t.same(store.byIndex('node', 'n1'), [])
  t.same(store.byIndex('node', 'n2').length, 1)
  t.end()
})

t.test('the same event again raises a count', async (t) => {
  const calls: { method: string; body: KubeObject }[] = []
  const client = await startScripted(t, (request, answer, body) => {
    calls.push({ method: request.method!, body: JSON.parse(body) })
    json(answer, 200, JSON.parse(body))
  })
  const recorder = createEventRecorder({
    client,
    component: 'c',
    clock: { now: () => 1_700_000_000_000 },
    log: silentLog,
  })
  const subject = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  }
  recorder.event(subject, 'Normal', 'Scheduled', 'once')
  recorder.event(subject, 'Normal', 'Scheduled', 'once')
  recorder.event(subject, 'Normal', 'Scheduled', 'other')
  for (let i = 0; i < 40; i++) recorder.event(subject, 'Warning', 'Flood', `message ${i}`)
  await recorder.flush()
  t.same(
    calls.slice(0, 3).map((c) => c.method),
    ['POST', 'PATCH', 'POST'],
  )
  t.equal(calls[0]!.body.involvedObject.uid, 'u')
  t.equal(calls[1]!.body.count, 2)
  t.equal(calls.length, 3 + 25, 'one object may have a burst of 25 of one type')
})

t.test('one of two leads; the other takes over when it lets go', async (t) => {
  let lease: KubeObject | undefined
  let version = 1
  const client = await startScripted(t, (request, answer, body) => {
    if (request.method === 'GET') {
      if (lease) json(answer, 200, lease)
      else json(answer, 404, { kind: 'Status', code: 404, reason: 'NotFound' })
      return
    }
    const next = JSON.parse(body) as PersistedObject
    const stale = lease && next.metadata.resourceVersion !== lease.metadata.resourceVersion
    if (stale || (request.method === 'POST' && lease))
      return json(answer, 409, { kind: 'Status', code: 409, reason: 'Conflict' })
    lease = { ...next, metadata: { ...next.metadata, resourceVersion: String(version++) } }
    json(answer, 200, lease)
  })
  const leading = new Set<string>()
  const start = (identity: string) => {
    const stop = new AbortController()
    const done = runAsLeader({
      client,
      clock: { now: () => performance.now() },
      log: silentLog,
      namespace: 'kube-system',
      name: 'x',
      identity,
      retryPeriodMs: 5,
      signal: stop.signal,
      async lead(signal) {
        leading.add(identity)
        t.equal(leading.size, 1)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        leading.delete(identity)
      },
    })
    return { stop: () => stop.abort(), done }
  }
  const a = start('a')
  await waitFor(() => leading.has('a'))
  const b = start('b')
  await new Promise((resolve) => setTimeout(resolve, 30))
  t.same([...leading], ['a'])
  a.stop()
  await a.done
  await waitFor(() => leading.has('b'))
  b.stop()
  await b.done
  t.equal(lease!.spec.leaseTransitions, 1)
})

t.test('a leader whose work fails, or whose server falls silent, leads no longer', async (t) => {
  let isSilent = false
  let lease: { spec: { holderIdentity: string } } | undefined
  const client = await startScripted(t, (request, answer, body) => {
    if (isSilent) return
    if (request.method === 'GET' && lease === undefined)
      return json(answer, 404, { kind: 'Status', code: 404, reason: 'NotFound' })
    if (request.method !== 'GET') lease = JSON.parse(body)
    json(answer, 200, lease)
  })
  const { signal } = new AbortController()
  const election = {
    client,
    clock: { now: () => performance.now() },
    log: silentLog,
    namespace: 'kube-system',
    name: 'x',
    identity: 'a',
    retryPeriodMs: 5,
    renewDeadlineMs: 50,
    signal,
  }
  const failing = runAsLeader({ ...election, lead: () => Promise.reject(new Error('no work')) })
  await t.rejects(failing, /no work/)
  t.equal(lease?.spec.holderIdentity, '', 'the next one need not wait')
  let isLeading = false
  const silenced = runAsLeader({
    ...election,
    async lead(signal) {
      isLeading = isSilent = true
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      isLeading = false
    },
  })
  await t.rejects(silenced, /lost the leader lease/)
  t.notOk(isLeading)
})

t.test('who waits for a Lease asks for it again after a time with some chance in it', async (t) => {
  let asked = 0
  const spec = { holderIdentity: 'b', leaseDurationSeconds: 1000 }
  const client = await startScripted(t, (_, answer) => {
    asked++
    json(answer, 200, { metadata: { name: 'x', namespace: 'kube-system' }, spec })
  })
  const stop = new AbortController()
  let drawn = 0
  const waiting = runAsLeader({
    ...{ client, clock: systemClock, log: silentLog, namespace: 'kube-system', name: 'x' },
    ...{ identity: 'a', retryPeriodMs: 1, signal: stop.signal },
    random: () => {
      drawn++
      return 0.5
    },
    lead: () => Promise.reject(new Error('it leads')),
  })
  await eventually('three times', () => asked >= 3)
  stop.abort()
  await waiting
  t.ok(drawn === asked, 'each wait was drawn')
})

t.test('no Lease is led on that could not be renewed in time, or was got too late', async (t) => {
  let isHeldUp = false
  let reads = 0
  let lease: { spec: { holderIdentity: string } } | undefined
  const client = await startScripted(t, (request, answer, body) => {
    if (request.method === 'GET') {
      reads++
      if (lease === undefined)
        return json(answer, 404, { kind: 'Status', code: 404, reason: 'NotFound' })
      return json(answer, 200, lease)
    }
    const written = JSON.parse(body)
    lease = written
    if (!isHeldUp) return json(answer, 200, written)
    // Long before the answer comes another one has taken it over.
    lease = { ...written, spec: { ...written.spec, holderIdentity: 'b' } }
    setTimeout(() => json(answer, 200, written), 100)
  })
  const election = {
    client,
    clock: { now: () => performance.now() },
    log: silentLog,
    namespace: 'kube-system',
    name: 'x',
    identity: 'a',
    renewDeadlineMs: 50,
  }
  const { signal } = new AbortController()
  const retryPeriodMs = 3_600_000
  const lead = whenAborted
  await t.rejects(
    runAsLeader({ ...election, signal, retryPeriodMs, lead }),
    /lost the leader lease/,
  )
  const underWay = () => new Promise<void>(() => {})
  await t.rejects(
    runAsLeader({ ...election, signal, retryPeriodMs, lead: underWay }),
    /lost the leader lease/,
    'what it has begun is not waited for: it would go on beside the next leader',
  )

  lease = undefined
  isHeldUp = true
  reads = 0
  const stop = new AbortController()
  const late = runAsLeader({
    ...election,
    signal: stop.signal,
    retryPeriodMs: 5,
    lead: async () => {
      t.fail('another one leads')
    },
  })
  await waitFor(() => reads >= 3)
  stop.abort()
  await late
})

t.test(
  'an answer that stops half-way is given up, and a watch that is only quiet is not',
  async (t) => {
    const client = await startScripted(t, (request, answer) => {
      answer.writeHead(200)
      if (request.url === '/whole') answer.end('whole')
      else answer.write('half')
    })
    const transport = createTransport(client.config, { answerTimeoutMs: 1_000 })
    t.teardown(() => transport.close())
    const read = async (path: string, longRunning = false): Promise<string> => {
      let text = ''
      for await (const chunk of await transport.send({ method: 'GET', path, longRunning })) {
        text += chunk
        if (longRunning) await new Promise((resolve) => setTimeout(resolve, 1_500))
        if (longRunning) return text
      }
      return text
    }
    // A machine that stands still has the best answer too late: then it is asked for again.
    const comes = (text: string, path: string, longRunning = false) =>
      eventually(`${text} of ${path}`, () =>
        read(path, longRunning).then(
          (read) => read === text,
          () => false,
        ),
      )
    await comes('whole', '/whole')
    await eventually('it is given up', () =>
      read('/half').then(
        () => false,
        ({ code }) => code === 'ECONNRESET',
      ),
    )
    await comes('whole', '/whole')
    await comes('half', '/half', true)
  },
)

t.test(
  'a kubeconfig in YAML gives server, trust and identity of its current context',
  async (t) => {
    const config = await parseKubeconfig(`
apiVersion: v1
kind: Config
current-context: two
contexts: [{name: one, context: {cluster: x, user: x}}, {name: two, context: {cluster: c, user: u, namespace: n}}]
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:6443/', certificate-authority-data: ${Buffer.from('CA').toString('base64')}}}]
users: [{name: u, user: {token: secret}}]
`)
    t.same(config, { server: 'https://127.0.0.1:6443', namespace: 'n', ca: 'CA', token: 'secret' })
    await t.rejects(parseKubeconfig('{"current-context":"none"}'), /no context "none"/)
  },
)

t.test('a writer sees its own write, and no late answer brings back what is gone', async (t) => {
  let stream: http.ServerResponse | undefined
  const client = await startScripted(t, (request, answer) => {
    if (!request.url!.includes('watch=true'))
      return json(answer, 200, { metadata: { resourceVersion: '5' }, items: [pod('a', '1')] })
    stream = answer
    answer.writeHead(200).flushHeaders()
  })
  const informer = new Informer({ client, ref: resources.pods, log: silentLog, random: () => 0 })
  const told: string[] = []
  informer.handle({
    onAdd: (o) => told.push(`add ${o.metadata.name}`),
    onUpdate: (o) => told.push(`update ${o.metadata.name}@${o.metadata.resourceVersion}`),
    onDelete: (o) => told.push(`delete ${o.metadata.name}`),
  })
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  await waitFor(() => stream !== undefined)
  const typed = (o: object) => ({ kind: 'Pod', apiVersion: 'v1', ...o }) as PersistedObject
  informer.observe(typed(pod('b', '7')))
  stream!.write(event('ADDED', pod('b', '6')))
  stream!.write(event('ADDED', pod('c', '8')))
  stream!.write(event('DELETED', pod('c', '9')))
  await waitFor(() => told.includes('delete c'))
  informer.observe(typed(pod('c', '8')))
  informer.observeDelete(informer.store.get('ns/b')!, typed(pod('b', '10')))
  stream!.write(event('DELETED', pod('b', '10')))
  stream!.write(event('ADDED', pod('b', '11', 'uid-b2')))
  await waitFor(() => told.filter((x) => x === 'add b').length === 2)
  stop.abort()
  await running
  t.same(told, ['add a', 'add b', 'add c', 'delete c', 'delete b', 'add b'])
})

t.test(
  'watches that have ended leave nothing behind at the signal of their informer',
  async (t) => {
    const leftAtWatches: number[] = []
    const stop = new AbortController()
    const client = await startScripted(t, (request, answer) => {
      if (!request.url!.includes('watch=true'))
        return json(answer, 200, { metadata: { resourceVersion: '5' }, items: [] })
      leftAtWatches.push(leftAtSignal(stop.signal))
      answer.writeHead(200).end(event('BOOKMARK', { metadata: { resourceVersion: '6' } }))
    })
    const informer = new Informer({ client, ref: resources.pods, log: silentLog })
    const running = informer.run(stop.signal)
    await waitFor(() => leftAtWatches.length >= 50)
    stop.abort()
    await running
    t.equal(leftAtWatches[49], leftAtWatches[0])
    t.equal(leftAtSignal(stop.signal), 0)
  },
)
