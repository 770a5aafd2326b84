/** Forwards a request to a Pod or a node and its answer to the client. Both are streamed; upgrades work too. */
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { failure } from '#api/errors.js'
import { goNetError, type NetError } from '#go/net-error.js'
import { boundDial } from '#net/bound-dial.js'
import { dialOptions } from '#net/dial-options.js'
import { ownConnections } from '#webhook/trusting-agent.js'
import type { ChangedAnswer } from './connect/proxied-answer.js'
import { copyHeaders, copyTrailers, headersToSend } from './forwarded-headers.js'

export interface Upgrade {
  readonly socket: Socket
  /** What the client has sent behind its request already. */
  readonly head: Buffer
}

export interface Destination {
  readonly url: URL
  /** The client certificate and the trusted authorities. Missing (Pods): no certificate, and any server is trusted. */
  readonly tls?: ConnectionOptions
  /** Keeps connections for the next request; missing, each has one of its own. */
  readonly agent?: https.Agent
}

/** Node certificates are made by the nodes themselves; upstream does not check them either by default. */
export const anybody = { rejectUnauthorized: false } as const

/** Upstream's answer when the node cannot be reached: the error of the dial, without a reason. */
const unreachable = (error: NetError, url: URL): Error =>
  failure({ code: 500, message: `Get "${url.href}": ${goNetError(error)}` })

/** The same for an upgrade, whose connection is made by hand. */
const notDialled = (error: NetError): Error =>
  failure({ code: 500, message: `error dialing backend: ${goNetError(error)}` })

const request = (
  { url, tls = anybody, agent }: Destination,
  options: { method: string; headers: OutgoingHttpHeaders; signal: AbortSignal },
) => {
  const isSecure = url.protocol === 'https:'
  const outgoing = (isSecure ? https : http).request(url, {
    ...options,
    ...tls,
    ...dialOptions,
    agent: agent ?? (isSecure ? ownConnections : false),
  })
  boundDial(outgoing, `${url.hostname}:${url.port || (isSecure ? 443 : 80)}`)
  return outgoing
}

interface ForwardOptions {
  /** Default: the client's, without what is not handed on. */
  readonly headers?: OutgoingHttpHeaders
  /** Whether the body, which nobody has read yet, is forwarded, too. Default false: nodes are sent none. */
  readonly hasBody?: boolean
  /** What is answered when the destination does not. Default: as upstream when a node cannot be reached. */
  readonly unreachable?: (error: NetError, url: URL) => Error
  /** The error that an answer becomes; missing, or undefined, it is handed on. */
  readonly refuse?: (answer: IncomingMessage) => Promise<Error> | undefined
  /** How an answer is handed on. Default: as it is. */
  readonly take?: (answer: IncomingMessage) => unknown
  /** What of an answer is handed on; default: all of it. */
  readonly change?: (answer: IncomingMessage) => Promise<ChangedAnswer>
  /** For a whole answer, where the request's own deadline is too long. */
  readonly timeoutMs?: number
}

/** Whether a body follows the headers. */
const bringsBody = (raw: IncomingMessage | Http2ServerRequest): boolean =>
  'stream' in raw
    ? !raw.stream.endAfterHeaders
    : raw.headers['content-length'] !== undefined || raw.headers['transfer-encoding'] !== undefined

/**
 * Node frames the body of some methods alone by itself: that of a DELETE would stand on the kept connection as it is, and be
 * taken for a next request, of whatever user its headers name.
 */
const framed = (headers: OutgoingHttpHeaders): OutgoingHttpHeaders =>
  headers['content-length'] === undefined ? { ...headers, 'transfer-encoding': 'chunked' } : headers

const sendBody = ({ raw, kube }: FastifyRequest, outgoing: http.ClientRequest): void => {
  raw.pipe(outgoing)
  // What is answered before its end has been sent is read to the end, as any body that no handler wants: its connection
  // would stand still otherwise.
  kube.whenOver(() => {
    if (raw.complete) return
    raw.unpipe(outgoing)
    raw.resume()
    outgoing.destroy()
  })
}

/** Fires with the request's own, and when the time for its whole answer is over. */
const endOf = ({ kube }: FastifyRequest, timeoutMs: number | undefined): AbortSignal => {
  if (timeoutMs === undefined) return kube.signal
  const own = new AbortController()
  const end = (): void => own.abort(kube.signal.reason)
  if (kube.signal.aborted) end()
  kube.signal.addEventListener('abort', end)
  // Node 20 loses a signal of AbortSignal.any and AbortSignal.timeout when it collects garbage.
  const timer = setTimeout(() => own.abort(new DOMException('too late', 'TimeoutError')), timeoutMs)
  kube.whenOver(() => clearTimeout(timer))
  return own.signal
}

/** The answer of the destination as it is. */
export const forward = async (
  destination: Destination,
  incoming: FastifyRequest,
  reply: FastifyReply,
  options: ForwardOptions,
): Promise<unknown> => {
  const { headers = headersToSend(incoming) } = options
  const signal = endOf(incoming, options.timeoutMs)
  const { method } = incoming
  const hasBody = options.hasBody === true && bringsBody(incoming.raw)
  const canRepeat = (method === 'GET' || method === 'HEAD') && !hasBody
  const ask = (agent: Destination['agent']): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        { ...destination, agent },
        { method, headers: hasBody ? framed(headers) : headers, signal },
      )
      outgoing.once('response', resolve)
      outgoing.on('error', (error: NetError) => {
        // A kept connection may have ended just now. A read is tried again on a new one, as Go does.
        if (
          agent !== undefined &&
          outgoing.reusedSocket &&
          canRepeat &&
          error.code === 'ECONNRESET'
        )
          resolve(ask(undefined))
        else reject((options.unreachable ?? unreachable)(error, destination.url))
      })
      if (hasBody) sendBody(incoming, outgoing)
      else outgoing.end()
    })
  return handOn(await ask(destination.agent), reply, options)
}

/**
 * The head does not wait for a body that may be long in coming, like the first event of a watch (ReverseProxy's
 * FlushInterval); with one that is there it is one write.
 */
const sendHeadSoon = ({ raw }: FastifyReply): void =>
  void setImmediate(() => {
    if (!raw.writableEnded && !raw.destroyed) raw.flushHeaders()
  })

const handOn = async (
  answer: IncomingMessage,
  reply: FastifyReply,
  { refuse, take, change }: Pick<ForwardOptions, 'refuse' | 'take' | 'change'>,
): Promise<unknown> => {
  const refusal = refuse?.(answer)
  // What is not read of it would hold its connection.
  if (refusal !== undefined) throw await refusal.finally(() => answer.destroy())
  if (take !== undefined) return take(answer)
  const { headers, body } = (await change?.(answer)) ?? { headers: answer.headers, body: answer }
  reply.code(answer.statusCode ?? 502)
  copyHeaders(headers, reply)
  copyTrailers(answer, reply)
  // What is made of a page may still turn out to be impossible: upstream reads all of it first.
  if (body === answer) reply.raw.once('pipe', () => sendHeadSoon(reply))
  return reply.send(body)
}

const headLines = (answer: IncomingMessage): string => {
  const lines = [`HTTP/1.1 101 ${answer.statusMessage || 'Switching Protocols'}`]
  const raw = answer.rawHeaders
  for (let i = 0; i < raw.length; i += 2) lines.push(`${raw[i]}: ${raw[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** A client that reads slowly still gets what the other side sent before it hung up. */
const join = (client: Socket, upstream: Socket, done: () => void): void => {
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true)
    socket.setTimeout(0)
    socket.on('error', () => socket.destroy())
  }
  upstream.once('close', () => client.destroySoon())
  client.once('close', () => {
    upstream.destroy()
    done()
  })
  client.pipe(upstream)
  upstream.pipe(client)
}

/** Passes an upgrade on; from then on bytes go both ways until one side hangs up. */
export const forwardUpgrade = async (
  destination: Destination,
  incoming: FastifyRequest,
  reply: FastifyReply,
  { socket, head }: Upgrade,
  options: Pick<ForwardOptions, 'headers' | 'unreachable' | 'refuse'> = {},
): Promise<unknown> => {
  const { signal } = incoming.kube
  // What the client has sent behind its request is no body but the first that it says after the upgrade.
  const { 'content-length': _, ...headers } = options.headers ?? headersToSend(incoming)
  // No kept connection: where the upgrade is refused, nobody knows what of that has been read.
  const outgoing = request(
    { ...destination, agent: undefined },
    {
      method: incoming.method,
      headers: {
        ...headers,
        connection: 'Upgrade',
        upgrade: incoming.headers.upgrade,
      },
      signal,
    },
  )
  type Outcome = { answer: IncomingMessage; upstream?: Socket; rest?: Buffer }
  const outcome = await new Promise<Outcome>((resolve, reject) => {
    outgoing.once('upgrade', (answer, upstream, rest) => resolve({ answer, upstream, rest }))
    outgoing.once('response', (answer) => resolve({ answer }))
    outgoing.on('error', (error) =>
      reject((options.unreachable ?? notDialled)(error, destination.url)),
    )
    outgoing.end()
  })
  const { answer, upstream, rest } = outcome
  if (!upstream) return handOn(answer, reply, options)
  reply.hijack()
  reply.raw.detachSocket(socket)
  incoming.kube.audit?.started(101)
  socket.write(headLines(answer))
  if (rest && rest.length > 0) socket.write(rest)
  if (head.length > 0) upstream.write(head)
  // OpenRequests waits for this event.
  join(socket, upstream, () => reply.raw.emit('close'))
  signal.addEventListener('abort', () => socket.destroy(), { once: true })
  return reply
}
