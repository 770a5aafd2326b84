/** HTTPS to one server over a pool of kept-alive connections. It knows requests and bytes, not objects. */
import http from 'node:http'
import https from 'node:https'
import tls from 'node:tls'
import { unlessAborted } from '#async/sleep.js'
import { trimRight } from '#go/trim-right.js'
import { limits } from '#limits'
import { cameTooLate } from '#net/came-too-late.js'
import {
  authorizationOf,
  type ClientCredentials,
  impersonationOf,
} from '#net/client-credentials.js'
import { dialOptions } from '#net/dial-options.js'
import { certificateIsFor, serverNamed } from '#net/server-name.js'
import { trusted } from '#net/trusted.js'
import { urlHost } from '#net/url-host.js'
import { followCredentials } from './followed-credentials.js'
import type { ClientConfig } from './kubeconfig.js'
import { createProgramCredentials, type ProgramCredentials } from './program-credentials.js'
import { throughProxy } from './proxy.js'

interface TransportRequest {
  method: string
  /** With its query. */
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
  signal?: AbortSignal
  /** May be sent twice. Default: if it is a GET (net/http: shouldRetryRequest). */
  canRepeat?: boolean
  /** Stays open for minutes and may be silent, so it gets a connection of its own. */
  longRunning?: boolean
}

export interface Transport {
  /** Resolves with the head; the body is read from the message. Rejects on a broken connection or abort. */
  send(request: TransportRequest): Promise<http.IncomingMessage>
  close(): void
}

/** Longest wait for the head of an answer, and for the next bytes of its body: a little more than the server's own. */
const answerTimeoutDefaultMs = limits.requestTimeoutMs + 5_000

/** Keys and certificates are read when they have changed, and not for every connection. */
const connectionOptions = (config: ClientConfig): https.AgentOptions => ({
  keepAlive: true,
  noDelay: true,
  checkServerIdentity: certificateIsFor,
  ...(config.serverName ? serverNamed(config.serverName) : {}),
  secureContext: tls.createSecureContext({
    ...trusted(config.ca),
    ...(config.cert ? { cert: config.cert } : {}),
    ...(config.key ? { key: config.key } : {}),
  }),
  rejectUnauthorized: !config.insecureSkipTlsVerify,
})

const directAgents = (config: ClientConfig, secure: boolean) => {
  const pool = {
    ...dialOptions,
    maxSockets: limits.clientConnectionsMax,
    maxFreeSockets: limits.clientConnectionsMax,
  }
  if (!secure)
    return {
      short: new http.Agent({ keepAlive: true, ...pool }),
      long: new http.Agent(dialOptions),
    }
  const options = connectionOptions(config)
  return {
    short: new https.Agent({ ...options, ...pool }),
    long: new https.Agent({ ...options, ...dialOptions, keepAlive: false }),
  }
}

const createAgents = (config: ClientConfig, secure: boolean) => {
  const { short, long } = directAgents(config, secure)
  if (config.proxyUrl) {
    const proxy = new URL(config.proxyUrl)
    for (const agent of [short, long]) throughProxy(agent, proxy, config)
  }
  return { short, long }
}

type Agents = ReturnType<typeof createAgents>

/** What is under way goes on, and no connection is used again: it was made with another certificate. */
const retire = ({ short }: Agents): void => {
  short.maxFreeSockets = 0
  for (const socket of Object.values(short.freeSockets).flat()) socket?.destroy()
}

const isOtherTls = (one: ClientConfig, other: ClientConfig): boolean =>
  one.cert !== other.cert || one.key !== other.key || one.ca !== other.ca

interface TransportOptions {
  readonly answerTimeoutMs?: number
  /** How often files of credentials are read again. */
  readonly rereadMs?: number
}

export const createTransport = (
  given: ClientConfig,
  { answerTimeoutMs = answerTimeoutDefaultMs, rereadMs }: TransportOptions = {},
): Transport => {
  const url = new URL(given.server)
  const secure = url.protocol === 'https:'
  /** Stands before the path of each request: several API servers may share an address behind a proxy. */
  const below = trimRight(url.pathname, '/')
  const followed = followCredentials(given, rereadMs)
  let config = given
  let agents = createAgents(config, secure)
  const start = secure ? https.request : http.request
  const program = given.program && createProgramCredentials(given.program)
  const follow = (shown?: ClientCredentials): void => {
    const next = { ...followed(), ...shown }
    if (isOtherTls(config, next)) {
      retire(agents)
      agents = createAgents(next, secure)
    }
    config = next
  }
  /** As client-go: an answer that says that they are not good makes it ask for others, for the next request. */
  const sendWithProgram = async (
    request: TransportRequest,
    credentials: ProgramCredentials,
  ): Promise<http.IncomingMessage> => {
    const current = credentials.current()
    // It may ask a person, who takes time.
    const shown = await (request.signal ? unlessAborted(current, request.signal) : current)
    follow(shown)
    const answer = await attempt(request, 3)
    if (answer.statusCode === 401) await credentials.renew(shown)
    return answer
  }

  const attempt = (request: TransportRequest, triesLeft: number): Promise<http.IncomingMessage> =>
    new Promise((resolve, reject) => {
      const outgoing = start({
        agent: request.longRunning ? agents.long : agents.short,
        host: urlHost(url),
        port: url.port || (secure ? 443 : 80),
        method: request.method,
        path: `${below}${request.path}`,
        headers: {
          // Credentials are not sent over plain HTTP, as client-go.
          ...(secure ? authorizationOf(config) : {}),
          ...impersonationOf(config),
          ...request.headers,
          ...(request.body === undefined
            ? {}
            : { 'content-length': String(Buffer.byteLength(request.body)) }),
        },
        ...(request.signal ? { signal: request.signal } : {}),
      })
      // A watch writes nothing: by itself it would never notice that the network has lost its server.
      if (request.longRunning)
        outgoing.once('socket', (socket) => socket.setKeepAlive(true, limits.clientKeepAliveMs))
      const giveUp = (): void => {
        outgoing.destroy(new Error(`no answer within ${answerTimeoutMs} ms`))
      }
      const timer = setTimeout(giveUp, answerTimeoutMs)
      let hasAnswer = false
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer)
        // What breaks off an answer is told to whoever reads it.
        if (hasAnswer) return
        const { method, canRepeat = method === 'GET' } = request
        if (triesLeft > 0 && canRepeat && cameTooLate(outgoing, error))
          resolve(attempt(request, triesLeft - 1))
        else reject(error)
      })
      outgoing.on('response', (message) => {
        hasAnswer = true
        clearTimeout(timer)
        if (!request.longRunning) outgoing.setTimeout(answerTimeoutMs, giveUp)
        resolve(message)
      })
      outgoing.end(request.body)
    })

  return {
    send: (request) => {
      if (program !== undefined) return sendWithProgram(request, program)
      follow()
      return attempt(request, 3)
    },
    close() {
      program?.end()
      agents.short.destroy()
      agents.long.destroy()
    },
  }
}
