/** Hands a request on to where a Pod or a node answers it, and the answer back; streams both ways, upgrades too. */
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { failure } from '#api/errors.js'

export interface Upgrade {
  readonly socket: Socket
  /** What the client has sent behind its request already. */
  readonly head: Buffer
}

export interface Destination {
  readonly url: URL
  /** Client certificate to show there; missing for Pods. */
  readonly credentials?: { readonly certPem: string; readonly keyPem: string }
}

/** Of one connection, not of the message (RFC 9110, 7.6.1), and what proves the client to us, not to others. */
const notForwarded = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'authorization',
  'host',
  'http2-settings',
])

const headersToSend = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) =>
        !notForwarded.has(name) && !name.startsWith(':') && !name.startsWith('impersonate-'),
    ),
  )

/** Upstream's answer when the node cannot be reached: the error of the dial, without a reason. */
const unreachable = (url: URL, error: NodeJS.ErrnoException) => {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const why =
    error.code === 'ECONNREFUSED'
      ? `dial tcp ${url.hostname}:${port}: connect: connection refused`
      : error.message
  return failure({ code: 500, message: `Get "${url.href}": ${why}` }, { log: error })
}

const request = (
  { url, credentials }: Destination,
  options: { method: string; headers: IncomingHttpHeaders; signal: AbortSignal },
) =>
  (url.protocol === 'https:' ? https : http).request(url, {
    ...options,
    agent: false,
    // Node certificates are made by the nodes themselves; upstream does not check them either by default.
    rejectUnauthorized: false,
    ...(credentials ? { cert: credentials.certPem, key: credentials.keyPem } : {}),
  })

const refusalText = async (answer: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of answer) text += chunk
  return text.trim()
}

export interface ForwardOptions {
  readonly body?: 'none' | 'forward'
  /** What an answer of 400 or more becomes; missing, it is handed on. */
  refuse?(code: number, text: string): Error
}

/** The answer of the destination as it is. A body goes along only for proxies: what we ask of nodes has none. */
export const forward = async (
  destination: Destination,
  incoming: FastifyRequest,
  reply: FastifyReply,
  { body = 'none', refuse }: ForwardOptions = {},
): Promise<unknown> => {
  const outgoing = request(destination, {
    method: incoming.method,
    headers: headersToSend(incoming.headers),
    signal: incoming.kube.signal,
  })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.once('error', (error) => reject(unreachable(destination.url, error)))
  })
  const bytes = incoming.body as Buffer | undefined
  if (body === 'forward' && bytes !== undefined) outgoing.end(bytes)
  else outgoing.end()
  const answer = await answered
  const code = answer.statusCode ?? 502
  if (refuse && code >= 400) throw refuse(code, await refusalText(answer))
  reply.code(code)
  for (const [name, value] of Object.entries(answer.headers)) {
    if (!notForwarded.has(name) && value !== undefined) reply.header(name, value)
  }
  return reply.send(answer as Readable)
}

const headLines = (answer: IncomingMessage): string => {
  const lines = [`HTTP/1.1 101 ${answer.statusMessage || 'Switching Protocols'}`]
  const raw = answer.rawHeaders
  for (let i = 0; i < raw.length; i += 2) lines.push(`${raw[i]}: ${raw[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

const join = (client: Socket, upstream: Socket, done: () => void): void => {
  const end = () => {
    client.destroy()
    upstream.destroy()
    done()
  }
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true)
    socket.setTimeout(0)
    socket.once('error', end)
    socket.once('close', end)
  }
  client.pipe(upstream)
  upstream.pipe(client)
}

/** Passes an upgrade on; from then on bytes go both ways until one side hangs up. */
export const forwardUpgrade = async (
  destination: Destination,
  incoming: FastifyRequest,
  reply: FastifyReply,
  { socket, head }: Upgrade,
): Promise<unknown> => {
  const { signal } = incoming.kube
  const outgoing = request(destination, {
    method: incoming.method,
    headers: {
      ...headersToSend(incoming.headers),
      connection: 'Upgrade',
      upgrade: incoming.headers.upgrade,
    },
    signal,
  })
  type Outcome = { answer: IncomingMessage; upstream?: Socket; rest?: Buffer }
  const outcome = await new Promise<Outcome>((resolve, reject) => {
    outgoing.once('upgrade', (answer, upstream, rest) =>
      resolve({ answer, upstream: upstream as Socket, rest }),
    )
    outgoing.once('response', (answer) => resolve({ answer }))
    outgoing.once('error', (error) => reject(unreachable(destination.url, error)))
    outgoing.end()
  })
  const { answer, upstream, rest } = outcome
  if (!upstream) {
    const code = answer.statusCode ?? 500
    throw failure({ code, message: await refusalText(answer) })
  }
  reply.hijack()
  reply.raw.detachSocket(socket)
  socket.write(headLines(answer))
  if (rest && rest.length > 0) socket.write(rest)
  if (head.length > 0) upstream.write(head)
  // Whoever counts open requests waits for this.
  join(socket, upstream, () => reply.raw.emit('close'))
  signal.addEventListener('abort', () => socket.destroy(), { once: true })
  return reply
}
