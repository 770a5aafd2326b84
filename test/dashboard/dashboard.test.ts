/** `kubelevel dashboard` as a browser has it: a page that is told how a Pod dies, and that nobody else can read. */
import http from 'node:http'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import { listen } from '#dashboard/listen.js'
import { runDashboard } from '#dashboard/main.js'
import { PodHistory } from '#dashboard/pod-history.js'
import type { Recorder } from '#dashboard/recorder.js'
import type { PodLine, Shown } from '#dashboard/view.js'
import { limits } from '#limits'
import { eventually } from '../eventually.js'
import { clientOf, startServer } from '../server/start-server.js'
import { storedMetadata } from '../stored-metadata.js'

const namespace = 'default'

const startDashboard = async (t: Test) => {
  const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
  const client = await clientOf(t, server)
  const stop = new AbortController()
  let url = ''
  const running = runDashboard({
    client,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    port: 0,
    print: (line) => (url = /http:\S+/.exec(line)![0]),
  })
  t.teardown(async () => {
    stop.abort()
    await running
  })
  return { client, url: await eventually('where it is', () => url) }
}

/** The newest of what a page was told. */
class Page {
  pods: PodLine[] = []
  shown: Shown | null = null
  readonly #request: http.ClientRequest

  constructor(url: string) {
    let rest = ''
    this.#request = http.get(url, (response) =>
      response.setEncoding('utf8').on('data', (text: string) => {
        const messages = (rest + text).split('\n\n')
        rest = messages.pop()!
        for (const message of messages) this.#take(message)
      }),
    )
    this.#request.on('error', () => {})
  }

  #take(message: string): void {
    const [, name, data] = /^event: (pods|shown)\ndata: (.*)$/.exec(message)!
    if (name === 'pods') this.pods = JSON.parse(data!)
    else this.shown = JSON.parse(data!)
  }

  close(): void {
    this.#request.destroy()
  }
}

const statusOf = (url: string, options: http.RequestOptions = {}): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const request = http.request(url, options, (response) => {
      resolve(response.statusCode)
      response.destroy()
    })
    request.on('error', reject).end()
  })

t.test(
  'a page is told of a Pod from its delete to its end, and of what it waits for',
  async (t) => {
    const { client, url } = await startDashboard(t)
    for (const name of ['other', 'p'])
      await client.create(resources.pods, {
        metadata: { name, namespace, ...(name === 'p' ? { finalizers: ['x/y'] } : {}) },
        spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
      })
    const page = new Page(`${url}follow`)
    t.teardown(() => page.close())
    await eventually('both Pods', () => page.pods.length === 2)
    await client.delete(resources.pods, { namespace, name: 'p' }, { gracePeriodSeconds: 20 })
    await eventually('the Pod that dies', () => page.shown?.title === 'default/p')
    t.match(page.pods[0], { name: 'p', state: 'Terminating' })
    t.match(page.shown!.why.join(), /^Its node n does not exist any more/)
    const { uid } = page.shown!
    await client.delete(resources.pods, { namespace, name: 'p' }, { gracePeriodSeconds: 0 })
    await eventually('why it stays', () => page.shown?.why.join().startsWith('Held by finalizers'))
    await client.patch(
      resources.pods,
      { namespace, name: 'p' },
      { metadata: { finalizers: null } },
      { type: 'merge' },
    )
    await eventually('its end', () => page.shown?.picture.includes('>gone<'))
    t.equal(page.shown!.uid, uid, 'what has gone stays')
    t.match(page.pods.at(-1), { name: 'p', state: 'gone' })
    t.match(page.shown!.steps.at(-1), /\+\d+\.\d{3}s {2}the object is gone$/)
    t.same(page.shown!.why, [])
    const picture = await fetch(`${url}pictures/${uid}.svg`)
    t.equal(picture.headers.get('content-type'), 'image/svg+xml')
    t.match(await picture.text(), /^<svg .*<\/svg>$/s)
    const chosen = new Page(`${url}follow?uid=${page.pods[0]!.uid}`)
    t.teardown(() => chosen.close())
    await eventually('the chosen Pod', () => chosen.shown?.title === 'default/other')
  },
)

t.test('only pages of its own may read it, and not too many', async (t) => {
  const { url } = await startDashboard(t)
  const front = await fetch(url)
  t.match(await front.text(), '<script type="module" src="/page.js">')
  t.match(front.headers.get('content-security-policy'), /^default-src 'none';/)
  for (const file of ['page.js', 'page.css']) t.equal(await statusOf(`${url}${file}`), 200)
  const port = new URL(url).port
  t.equal(await statusOf(url, { headers: { host: `localhost:${port}` } }), 200)
  t.equal(await statusOf(`${url}follow`, { headers: { host: `evil.example:${port}` } }), 403)
  t.equal(await statusOf(url, { method: 'POST' }), 405)
  for (const path of [
    'pictures/none.svg',
    'page/page.js',
    '%2e%2e/package.json',
    'constructor',
    '/',
  ])
    t.equal(await statusOf(`${url}${path}`), 404, path)
  const many = Array.from({ length: limits.dashboardPagesMax }, () => new Page(`${url}follow`))
  await eventually('too many pages', async () => (await statusOf(`${url}follow`)) === 503)
  for (const page of many) page.close()
  await eventually('room again', async () => (await statusOf(`${url}follow`)) === 200)
})

t.test('a port that another dashboard has is told with the flag that chooses one', async (t) => {
  const recorder = { histories: new Map(), onChange: () => () => {} } as unknown as Recorder
  const first = await listen({ recorder, clock: systemClock, port: 0 })
  t.teardown(first.close)
  const port = Number(new URL(first.url).port)
  const message = `port ${port} on 127.0.0.1 is in use: choose another with --port`
  await t.rejects(listen({ recorder, clock: systemClock, port }), { message })
})

t.test('a page gets updates even while Pods change all the time', async (t) => {
  const histories = new Map<string, PodHistory>()
  const listeners = new Set<() => void>()
  const onChange = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const recorder = { histories, onChange, explain: () => [] } as unknown as Recorder
  const { url, close } = await listen({ recorder, clock: systemClock, port: 0 })
  t.teardown(close)
  const page = new Page(`${url}follow`)
  t.teardown(() => page.close())
  await eventually('a page that follows', () => listeners.size === 1)
  const metadata = storedMetadata({ name: 'p', namespace, uid: 'u' })
  histories.set('u', new PodHistory({ kind: 'Pod', apiVersion: 'v1', metadata }, [], Date.now()))
  const changing = setInterval(() => {
    for (const listener of listeners) listener()
  }, 5)
  t.teardown(() => clearInterval(changing))
  await eventually('the new Pod', () => page.pods.length === 1)
})
