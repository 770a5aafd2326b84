/** The sweep between two servers of ours: silent where they are the same, and not where one of them is changed on its way. */
import http from 'node:http'
import t, { type Test } from 'tap'
import { listen } from '../listen.js'
import { startFreshServer } from './fresh-server.js'
import { parts } from './parts.js'
import { linesOf } from './report.js'
import { createSweep, play } from './sweep.js'
import { open, type Target } from './target.js'

/** How much of which part is played. */
interface Sample {
  readonly part: string
  readonly share: number
}

/** What somebody could break, seen from outside. */
interface Plant extends Sample {
  readonly name: string
  readonly text?: (text: string) => string
  readonly code?: (code: number) => number
  readonly isSilent?: true
  /** What the report has to show. */
  readonly shown: RegExp
}

const plants: readonly Plant[] = [
  {
    name: 'a default that is not set',
    part: 'create',
    share: 0.05,
    text: (text) => text.replace('"sessionAffinity":"None",', ''),
    shown: /sessionAffinity|metadata/,
  },
  {
    name: 'a cause in other words',
    part: 'create',
    share: 0.05,
    text: (text) => text.replaceAll('Invalid value', 'Wrong value'),
    shown: /Wrong value/,
  },
  {
    name: 'another code',
    part: 'requests',
    share: 0.005,
    code: (code) => (code === 422 ? 400 : code),
    shown: /"code"|4\d\d/,
  },
  {
    name: 'a warning that is not given',
    part: 'keys',
    share: 0.05,
    isSilent: true,
    shown: /duplicate field/,
  },
  {
    name: 'a grace that is not shortened',
    part: 'deletes',
    share: 0.01,
    text: (text) => text.replace(/(?<="deletionGracePeriodSeconds":)[01]\b/, '30'),
    shown: /deletionGracePeriodSeconds/,
  },
  {
    name: 'a right that is missing under another name',
    part: 'access',
    share: 0.004,
    text: (text) => text.replace('cannot get resource', 'cannot list resource'),
    shown: /cannot (?:get|list) resource/,
  },
  {
    name: 'an event of another type',
    part: 'watches',
    share: 0.05,
    text: (text) => text.replace('"type":"MODIFIED"', '"type":"ADDED"'),
    shown: /ADDED/,
  },
]

/** A server behind a plant. */
const behind = async (t: Test, target: Target, plant: Plant): Promise<Target> => {
  const pass = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = 'GET', url: path = '/', headers } = request
    const body = chunks.length === 0 ? undefined : Buffer.concat(chunks).toString()
    const given = Object.entries(headers).filter(
      ([name]) =>
        name === 'accept' ||
        name === 'authorization' ||
        name.startsWith('impersonate-') ||
        (name === 'content-type' && body !== undefined),
    )
    const exchange = open(target, {
      method,
      path,
      body,
      headers: Object.fromEntries(given) as Record<string, string>,
    })
    response.on('close', () => exchange.request.destroy())
    const answer = await exchange.response
    const { 'content-type': type, warning } = answer.headers
    response.writeHead(plant.code?.(answer.statusCode!) ?? answer.statusCode!, {
      ...(type && { 'content-type': type }),
      ...(warning && !plant.isSilent && { warning }),
    })
    // The server writes an event at once, and a short answer too.
    for await (const chunk of answer.setEncoding('utf8'))
      response.write(plant.text?.(chunk) ?? chunk)
    response.end()
  }
  // Who watches leaves before the end.
  const front = http.createServer((...parties) => void pass(...parties).catch(() => undefined))
  const port = await listen(t, front)
  return { url: `http://127.0.0.1:${port}`, token: target.token }
}

const start = async (t: Test): Promise<Target> => {
  const server = await startFreshServer('sweeper')
  t.teardown(() => server.close())
  return server
}

const swept = async (server: Target, against: Target, { part, share }: Sample) => {
  const kinds = /^\/(?:ConfigMap|Service)$/
  const sweep = createSweep({ server, against, kinds, seed: 1, share })
  await play(
    sweep,
    parts.filter(({ name }) => name === part),
  )
  return sweep.report()
}

t.test('what is changed on its way is found, and nothing else', async (t) => {
  const [server, against] = await Promise.all([start(t), start(t)])
  for (const plant of plants)
    await t.test(plant.name, async (t) => {
      const same = await swept(server, against, plant)
      t.same(same.classes, [], linesOf(same).join('\n'))
      const lines = linesOf(await swept(await behind(t, server, plant), against, plant))
      t.notMatch(lines.at(-1), / 0 classes$/)
      t.match(lines.join('\n'), plant.shown)
    })
})
