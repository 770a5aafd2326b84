/** A server of a test's own, closed with it, and requests to it. */
import https from 'node:https'
import type { Test } from 'tap'
import { type Client, createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { write } from '#json/json.js'
import { limits } from '#limits'
import type { Server, ServerOptions } from '#src/index.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
  body: any
}

export interface Call {
  method?: string
  path: string
  body?: unknown
  headers?: Record<string, string>
  /** Default: the admin's; empty for none. */
  token?: string
  cert?: string
  key?: string
  /** Default: a connection of its own. */
  agent?: https.Agent
}

export const call = (
  server: Pick<Server, 'url' | 'adminToken' | 'caPem'>,
  { path, method = 'GET', body, ...rest }: Call,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const token = rest.token ?? server.adminToken
    const payload = body === undefined ? undefined : write(body)
    const request = https.request(
      `${server.url}${path}`,
      {
        method,
        ca: server.caPem,
        cert: rest.cert,
        key: rest.key,
        agent: rest.agent ?? false,
        headers: {
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
          // Of a DELETE with a body node:http does not send the length by itself.
          ...(payload === undefined
            ? {}
            : {
                'content-type': 'application/json',
                'content-length': String(Buffer.byteLength(payload)),
              }),
          ...rest.headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        // Cut off in the middle.
        response.on('error', reject)
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const bytes = Buffer.concat(chunks)
          const text = bytes.toString()
          let parsed: unknown = text
          try {
            parsed = JSON.parse(text)
          } catch {
            // Plain text stays text.
          }
          const { statusCode: status, headers } = response
          resolve({ status: status!, headers, text, bytes, body: parsed })
        })
      },
    )
    request.on('error', reject)
    request.end(payload)
  })

/** Asks until the answer is as it should be: what a write changes in the API itself shows a moment after its answer. */
export const answerThat = (
  server: Server,
  request: Call,
  what: string,
  holds: (answer: Answer) => boolean,
): Promise<Answer> =>
  eventually(`${request.path} ${what}`, async () => {
    const answer = await call(server, request)
    return holds(answer) && answer
  })

export const isServed = (server: Server, path: string): Promise<Answer> =>
  answerThat(server, { path }, 'is served', ({ status }) => status === 200)

/** A watch that is read as it comes, and closed with the test. */
export const openWatch = (t: Test, server: Server, path: string) => {
  let text = ''
  const headers = { authorization: `Bearer ${server.adminToken}` }
  const request = https.get(`${server.url}${path}`, { ca: server.caPem, agent: false, headers })
  const ended = new Promise<void>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', resolve)
    })
  })
  ended.catch(() => {})
  t.teardown(() => request.destroy())
  return {
    /** All its lines, once there are so many. */
    lines: (count: number): Promise<string[]> =>
      eventually(`${count} events of ${path}`, () => {
        const lines = text.split('\n').slice(0, -1)
        return lines.length >= count && lines
      }),
    /** When the server has ended it. */
    ended,
  }
}

export const startServer = async (
  t: Test,
  options: ServerOptions = {},
  create = createServer,
): Promise<Server> => {
  const server = await create({ logLevel: 'silent', ...options })
  t.teardown(() => server.close())
  return server
}

/** With other limits until the test is over: those of the modules, and so of a server of the modules. */
export const startWithLimits = async (
  t: Test,
  changed: Partial<Record<keyof typeof limits, number>>,
  options: ServerOptions = {},
): Promise<Server> => {
  const before = { ...limits }
  t.teardown(() => Object.assign(limits, before))
  Object.assign(limits, changed)
  const { createServer } = await import('#server/create-server.js')
  return startServer(t, options, createServer)
}

/** The admin's, closed before the server is. */
export const clientOf = async (t: Test, server: Server): Promise<Client> => {
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  t.teardown(() => client.close())
  return client
}
