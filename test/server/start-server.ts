/** A server of a test's own, closed with it, and requests to it. */
import https from 'node:https'
import type { Test } from 'tap'
import { type Client, createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { createServer, type Server, type ServerOptions } from '#src/index.js'

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
  server: Server,
  { path, method = 'GET', body, ...rest }: Call,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const token = rest.token ?? server.adminToken
    const payload = body === undefined ? undefined : JSON.stringify(body)
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

export const startServer = async (t: Test, options: ServerOptions = {}): Promise<Server> => {
  const server = await createServer({ logLevel: 'silent', ...options })
  t.teardown(() => server.close())
  return server
}

/** The admin's, closed before the server is. */
export const clientOf = async (t: Test, server: Server): Promise<Client> => {
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  t.teardown(() => client.close())
  return client
}
