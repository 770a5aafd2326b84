import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { KubeObject } from '#api/object.js'
import { eventually } from '../eventually.js'
import { mainFile } from '../main-file.js'
import { temporaryDirectory } from './level-fixture.js'

const rounds = 20
const writers = 8
const maps = '/api/v1/namespaces/default/configmaps'

interface Server {
  readonly url: string
  readonly child: ChildProcess
  readonly agent: Agent
}

const startServer = async (directory: string): Promise<Server> => {
  const flags = ['--data-dir', directory, '--secure-port', '0']
  const tokens = ['--token-auth-file', join(directory, 'tokens.csv')]
  const child = spawn(process.execPath, [mainFile, 'serve', ...flags, ...tokens], {
    // By the channel it learns when the test was killed, and ends too.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let text = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr!.on('data', (chunk) => {
      text += chunk
      const found = /https:\/\/[\d.:]+/.exec(text)
      if (found !== null) resolve(found[0])
    })
    child.once('exit', () => reject(new Error(`the server did not start: ${text}`)))
  })
  return { url, child, agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) }
}

const killServer = async ({ child, agent }: Server): Promise<void> => {
  if (child.exitCode !== null) throw new Error(`the server ended by itself: ${child.exitCode}`)
  child.kill('SIGKILL')
  await once(child, 'exit')
  agent.destroy()
}

const call = (
  { url, agent }: Server,
  method: string,
  path: string,
  body?: object,
): Promise<KubeObject> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
    const out = request(url + path, { method, headers, agent }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () => {
        if (answer.complete) resolve({ code: answer.statusCode, ...JSON.parse(text) })
        else reject(new Error('cut off'))
      })
      answer.on('error', reject)
    })
    out.on('error', reject)
    out.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** What was acknowledged: the number each map holds at least, and what was sent to it last. */
interface Book {
  readonly acknowledged: Map<string, number>
  readonly sent: Map<string, number>
  calls: number
}

const writeUntilDead = async (server: Server, name: string, book: Book): Promise<void> => {
  try {
    for (;;) {
      const n = (book.sent.get(name) ?? 0) + 1
      book.sent.set(name, n)
      const body = { metadata: { name }, data: { n: String(n) } }
      let answer = await call(server, 'PUT', `${maps}/${name}`, body)
      if (answer.code === 404) answer = await call(server, 'POST', maps, body)
      if (answer.code >= 300) throw new Error(answer.message)
      book.acknowledged.set(name, n)
      book.calls++
    }
  } catch (error) {
    if (!/cut off|ECONN|hang up|EPIPE|JSON|aborted|disconnected/.test(String(error))) throw error
  }
}

/** State as a watcher knows it, carried over from server to server. */
class Informer {
  readonly state = new Map<string, string>()
  revision = '0'
  problems: string[] = []

  follow({ url, agent }: Server): Promise<void> {
    const path = `${maps}?watch=true&resourceVersion=${this.revision}`
    const headers = { authorization: 'Bearer t' }
    return new Promise((resolve) => {
      const out = request(url + path, { headers, agent }, (answer) => {
        let rest = ''
        answer.on('data', (chunk) => {
          const lines = (rest + chunk).split('\n')
          rest = lines.pop()!
          for (const line of lines) this.#take(JSON.parse(line))
        })
        answer.on('close', () => resolve())
        answer.on('error', () => resolve())
      })
      out.on('error', () => resolve())
      out.end()
    })
  }

  #take({ type, object }: { type: string; object: KubeObject }): void {
    const { name = '', resourceVersion = '' } = object.metadata
    if (type === 'ERROR' || Number(resourceVersion) <= Number(this.revision))
      this.problems.push(`${type} ${JSON.stringify(object.metadata)}`)
    if (Number(resourceVersion) > Number(this.revision)) this.revision = resourceVersion
    this.state.set(name, object.data?.n)
  }
}

const verify = async (t: Test, server: Server, book: Book) => {
  const list = await call(server, 'GET', maps)
  const held = new Map<string, number>(
    list.items.map((item: KubeObject) => [item.metadata.name!, Number(item.data?.n)]),
  )
  const lost = [...book.acknowledged].filter(([name, n]) => (held.get(name) ?? 0) < n)
  const invented = [...book.sent].filter(([name, n]) => (held.get(name) ?? 0) > n)
  t.same({ lost, invented }, { lost: [], invented: [] })
  return { held, revision: String(list.metadata.resourceVersion) }
}

t.test('kill -9 of the server, twenty times under load: every answer given holds', async (t) => {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'tokens.csv'), 't,t,t,"system:masters"\n')
  const book: Book = { acknowledged: new Map(), sent: new Map(), calls: 0 }
  const informer = new Informer()
  let server = await startServer(directory)
  t.teardown(() => server.child.kill('SIGKILL'))
  // Without a version a watch begins with what is there, in the order of names.
  informer.revision = (await verify(t, server, book)).revision
  for (let round = 0; round < rounds; round++) {
    const following = informer.follow(server)
    const work = Array.from({ length: writers }, (_, i) => writeUntilDead(server, `m${i}`, book))
    const enough = book.calls + writers + ((round * 37) % 120)
    await eventually('its load', () => book.calls >= enough)
    await killServer(server)
    await Promise.all([...work, following])
    server = await startServer(directory)
    await verify(t, server, book)
  }
  const last = informer.follow(server)
  const { held } = await verify(t, server, book)
  const end = { metadata: { name: 'm0' }, data: { n: '0' } }
  const { metadata } = await call(server, 'PUT', `${maps}/m0`, end)
  held.set('m0', 0)
  await eventually('the end', () => informer.revision === metadata.resourceVersion)
  await killServer(server)
  await last
  t.same(informer.problems, [], 'in order, once, and never too old')
  const state = [...informer.state].filter(([name]) => name.startsWith('m'))
  const wanted = [...held].filter(([name]) => name.startsWith('m'))
  t.same(
    new Map(state.map(([name, n]) => [name, Number(n)])),
    new Map(wanted),
    'a watch carried over every crash has seen everything',
  )
})
